export const css = `
.treebox { margin-top: 8px; padding: 4px 0; max-height: 34rem; overflow: auto; }
.tree { display: block; margin: 0 auto; font: 400 12px/1 var(--a-font-code); }
.tree .edge { fill: none; stroke: var(--a-line-strong); stroke-width: 1.5; }
.tree .edge.walked { stroke: var(--a-ink); stroke-width: 2.5; }
.tree .root { fill: var(--a-surface); stroke: var(--a-line-control); stroke-width: 1.5; }
.tree .rootword { fill: var(--a-ink-2); text-anchor: middle; font: 400 11px/1 var(--a-font-text); }
.tree .asked { fill: var(--a-ink-2); font: 400 12px/1 var(--a-font-text); }
.tree .node rect { fill: var(--c, var(--a-own-free)); stroke: var(--e, var(--a-own-free-edge)); }
.tree .node text { fill: var(--i, var(--a-ink)); }
.tree .node.walked rect { stroke: var(--a-ink); stroke-width: 3; paint-order: stroke; }
.tree .node.fresh rect { stroke-dasharray: none; }
.tree .node.gone { --i: var(--a-wrong); }
.tree .node.gone rect { fill: var(--a-own-free); stroke: var(--a-wrong-edge); stroke-width: 2; stroke-dasharray: 4 4; }
.tree .node.gone .hatch { display: none; }
.tree .size { font: 600 12px/1 var(--a-font-text); }
.tree .locks, .tree .users { font: 400 12px/1 var(--a-font-text); }
.tree .locks.held { font-weight: 600; }
.tree .users, .tree .used { text-anchor: end; }
.tree .used { opacity: 0.85; font-size: 11px; }
`;
