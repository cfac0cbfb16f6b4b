/** Chapter 4: a request's KV is contiguous by position and scattered by location; the table leads from one to the other. */

import { moduleOf } from "../player/widget";
import type { Animation } from "../types";
import * as table from "./fold";
import { css } from "./style";
import { view } from "./view";

const animation: Animation<table.TableState> = { name: "page_table", ...table, view, css };
const module = moduleOf(animation);

export default module.default;
export const { at, fold, states, steps } = module;
