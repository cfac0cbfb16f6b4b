/** Chapter 9: the tree over the pool: a match runs down, a node splits, locks, and what is evicted. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as radix from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<radix.TreeState> = { name: "radix_tree", ...radix, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
