/** Chapter 16: each rank has a part of every layer; partial sums meet twice a layer. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as parallel from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<parallel.ParallelState> = { name: "tensor_parallel", ...parallel, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
