/** Chapters 7 and 8: who computes in the next step, who has to wait, and for what. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as timeline from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<timeline.TimelineState> = { name: "scheduler_timeline", ...timeline, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
