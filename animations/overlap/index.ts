/** Chapter 11: the next step is launched before the last one's tokens are looked at. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as lanes from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<lanes.OverlapState> = { name: "overlap", ...lanes, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
