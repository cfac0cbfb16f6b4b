/** Chapter 4: a block that nobody uses waits in the free queue with its content, until it is allocated again. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as blocks from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<blocks.BlockState> = { name: "block_pool", ...blocks, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
