/** Chapter 18: a graph reads fixed places; a batch is padded to a size that was captured. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as graphs from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<graphs.GraphState> = { name: "cuda_graph", ...graphs, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
