/** Chapter 8: who has which page, and what `cache_req` does with the four regions of a row. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as pool from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<pool.PoolState> = { name: "kv_pool", ...pool, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
