/** Chapter 10: a long prompt in pieces, beside those who decode. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as chunks from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<chunks.ChunkState> = { name: "chunked_prefill", ...chunks, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
