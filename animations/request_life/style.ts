export const css = `
.lifelines { display: block; margin-top: 8px; font: 400 11px/1 var(--a-font-code); overflow: hidden; max-width: 100%; }
.lifelines .life { stroke: var(--a-line-strong); stroke-width: 1.5; stroke-dasharray: 3 3; }
.lifelines .process { fill: var(--a-sunken); stroke: var(--a-line-control); }
.lifelines .pname { fill: var(--a-ink); text-anchor: middle; font: 600 12px/1 var(--a-font-text); }
.lifelines .message line { stroke: var(--a-ink-3); stroke-width: 1.5; }
.lifelines .message path { fill: var(--a-ink-3); }
.lifelines .message text { fill: var(--a-ink-2); text-anchor: middle; paint-order: stroke; stroke: var(--a-surface); stroke-width: 4px; stroke-linejoin: round; }
.lifelines .message.now line { stroke: var(--a-ink); stroke-width: 3; }
.lifelines .message.now path { fill: var(--a-ink); }
.lifelines .message.now text { fill: var(--a-ink); font-weight: 600; }
.lifelines .doing rect { fill: var(--a-own-cache); stroke: var(--a-own-cache-edge); }
.lifelines .doing text { fill: var(--a-own-cache-ink); text-anchor: middle; font: 400 11px/1 var(--a-font-text); }
.lifelines .doing.now rect { stroke: var(--a-ink); stroke-width: 3; }
.lives { min-height: 1.5rem; margin-top: 4px !important; font-size: 0.8125rem; color: var(--a-ink-2); }
@container (max-width: 560px) {
  .lifelines .pname { font-size: 11px; }
  .lifelines .message text { font-size: 11px; letter-spacing: -0.03em; }
}
`;
