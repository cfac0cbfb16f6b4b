export const css = `
.runword { margin-top: 10px !important; font-size: 0.8125rem; color: var(--a-ink-2); font-variant-numeric: tabular-nums; }
.lanes { display: block; margin-top: 4px; font: 600 12px/1 var(--a-font-code); }
.lanes .ground { fill: var(--a-sunken); }
.lanes .lane { fill: var(--a-ink-2); font-weight: 400; }
.lanes .tick { fill: var(--a-ink-3); font-weight: 400; font-size: 11px; text-anchor: middle; }
.lanes .tick:nth-last-of-type(1) { text-anchor: end; }
.lanes .box text { text-anchor: middle; fill: var(--a-ink); }
.lanes .box rect { stroke: var(--a-ink-2); fill: var(--a-surface); }
.lanes .launch rect { fill: var(--a-surface); }
.lanes .handle rect { fill: var(--a-line); }
.lanes .compute rect { fill: var(--a-own-cache); stroke: var(--a-own-cache-edge); }
.lanes .compute text { fill: var(--a-own-cache-ink); }
.lanes .now rect { stroke: var(--a-ink); stroke-width: 3; }
.lanes .idle { fill: none; stroke: var(--a-line-control); stroke-dasharray: 3 3; }
.lanes .stale rect { fill: var(--a-wrong-tint); stroke: var(--a-wrong-edge); stroke-width: 2; }
.lanes .stale text { fill: var(--a-wrong); }
.keys { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 8px !important; font-size: 0.75rem; color: var(--a-ink-2); }
.keys span { display: inline-flex; align-items: center; gap: 6px; }
.key { width: 18px; height: 14px; display: inline-block; border-radius: 2px; border: 1px solid var(--a-ink-2); }
.key.handle { background: var(--a-line); }
.key.compute { background: var(--a-own-cache); }
.key.idle { border: 1px dashed var(--a-line-control); }
`;
