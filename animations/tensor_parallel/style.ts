export const css = `
.ranks { display: block; margin-top: 8px; font: 400 12px/1 var(--a-font-text); }
.ranks .rank { fill: var(--a-ink); font-weight: 600; }
.ranks .lane { stroke: var(--a-line-strong); stroke-width: 1.5; }
.ranks .work rect { fill: var(--a-surface); stroke: var(--a-line-control); }
.ranks .work text { fill: var(--a-ink-2); text-anchor: middle; font-size: 11px; }
.ranks .work.later rect { stroke-dasharray: 3 3; }
.ranks .work.done rect { fill: var(--a-sunken); stroke: var(--a-ink-3); }
.ranks .work.now rect { stroke: var(--a-ink); stroke-width: 2.5; }
.ranks .work.now text { fill: var(--a-ink); font-weight: 600; }
.ranks .meet line { stroke: var(--a-line-strong); stroke-width: 2; stroke-dasharray: 3 3; }
.ranks .meet circle { fill: var(--a-surface); stroke: var(--a-line-control); }
.ranks .meet text { fill: var(--a-ink-2); text-anchor: middle; font: 600 13px/1 var(--a-font-code); }
.ranks .meet.done line, .ranks .meet.now line { stroke: var(--a-ink); stroke-dasharray: none; }
.ranks .meet.done circle { fill: var(--a-own-cache); stroke: var(--a-own-cache-edge); }
.ranks .meet.done text { fill: var(--a-own-cache-ink); }
.ranks .meet.now line { stroke-width: 4; }
.ranks .meet.now circle { fill: var(--a-surface); stroke: var(--a-ink); stroke-width: 3; }
.ranks .meet.now text { fill: var(--a-ink); }
.ranks .what { fill: var(--a-ink-2); text-anchor: middle; }
.ranks .bytes { fill: var(--a-ink-3); text-anchor: middle; font: 400 11px/1 var(--a-font-code); }
`;
