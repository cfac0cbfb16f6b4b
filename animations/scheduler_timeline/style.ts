export const css = `
.gauges { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 2fr); gap: 8px 24px; }
.gauge p { font-size: 0.8125rem; color: var(--a-ink-2); font-variant-numeric: tabular-nums; }
.gauge .bar { display: flex; height: 14px; margin-top: 2px; border: 1px solid var(--a-line-control); background: var(--a-own-free); overflow: hidden; }
.gauge .bar i { display: block; flex: none; height: 100%; transition: width var(--t-move); }
.gauge .bar .held { background: var(--a-ink-3); }
.gauge .bar .cached { background: var(--a-own-cache); border-left: 1px solid var(--a-surface); }
.gauge .bar .promised { background: radial-gradient(var(--a-ink-2) 1px, transparent 1.2px) 0 0 / 5px 5px; border-left: 1px solid var(--a-ink-2); border-right: 1px solid var(--a-ink-2); }
.gauge.binds p { color: var(--a-wrong); font-weight: 600; }
.gauge.binds .bar { border: 2px solid var(--a-wrong-edge); }
.grid { display: grid; grid-template-columns: 132px repeat(var(--n), minmax(0, 1fr)); gap: 3px; margin-top: 12px; align-items: center; align-content: start; padding-bottom: 2px; }
.grid .corner, .grid .head { font: 400 0.75rem/1.4 var(--a-font-code); color: var(--a-ink-3); }
.grid .corner { font-family: var(--a-font-text); }
.grid .head { text-align: center; }
.grid .head.later { visibility: hidden; }
.grid .head.now { color: var(--a-ink); font-weight: 600; box-shadow: inset 0 -2px var(--a-ink); }
.grid .label { display: flex; gap: 6px; align-items: baseline; min-width: 0; font-size: 0.75rem; color: var(--a-ink-2); white-space: nowrap; overflow: hidden; }
.grid .who { flex: none; }
.grid .slot { height: 28px; display: grid; place-items: center; border: 1px solid transparent; border-radius: 2px; font: 600 0.75rem/1 var(--a-font-code); font-variant-numeric: tabular-nums; }
.slot.prefill { background: var(--c); border-color: var(--e); color: var(--i); box-shadow: inset 0 -4px var(--e); }
.slot.decode { background: var(--c); border-color: var(--e); color: var(--i); font-weight: 400; }
.slot.ends { border-right: 4px solid var(--a-ink); }
.slot.waits, .key.waits { border: 1px dashed var(--a-line-control); }
.slot.refused, .key.refused { border: 1px solid var(--a-wrong-edge); background: repeating-linear-gradient(135deg, var(--a-wrong-edge) 0 1.5px, transparent 1.5px 7px); }
.slot.gate { outline: 2px solid var(--a-ink); outline-offset: 0; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 10px !important; font-size: 0.75rem; color: var(--a-ink-2); }
.keys span { display: inline-flex; align-items: center; gap: 6px; }
.key { width: 18px; height: 14px; display: inline-block; border-radius: 2px; border: 1px solid var(--a-line-control); }
.key.prefill { background: var(--a-sunken); box-shadow: inset 0 -4px var(--a-ink-3); border-color: var(--a-ink-3); }
.key.decode { background: var(--a-sunken); border-color: var(--a-ink-3); }
.key.ends { background: var(--a-sunken); border-right: 4px solid var(--a-ink); }
.more { margin-top: 6px !important; font-size: 0.8125rem; color: var(--a-ink-3); }
@container (max-width: 560px) {
  .gauges { grid-template-columns: minmax(0, 1fr); }
}
`;
