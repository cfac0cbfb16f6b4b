/** Chapters 12 to 15: a request on its way through the processes of the server. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as life from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<life.LifeState> = { name: "request_life", ...life, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
