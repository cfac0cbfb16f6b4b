/** The look of the player and of what all animations share: the site's tokens, or the same values without it. */

const tokens: [string, string][] = [
  ["paper", "light-dark(#F7F9F9, #12181D)"],
  ["surface", "light-dark(#FFFFFF, #182027)"],
  ["sunken", "light-dark(#EEF2F3, #0D1317)"],
  ["line", "light-dark(#D8DFE2, #2B363E)"],
  ["line-strong", "light-dark(#AEBAC1, #46545E)"],
  ["line-control", "light-dark(#72818B, #75858F)"],
  ["ink", "light-dark(#15202A, #E3E9EC)"],
  ["ink-2", "light-dark(#42505B, #B4C0C7)"],
  ["ink-3", "light-dark(#5A6873, #94A2AB)"],
  ["pen", "light-dark(#174EA6, #8CB6FF)"],
  ["mark", "light-dark(#FFE16B, #D8B740)"],
  ["mark-edge", "light-dark(#8A6A00, #D8B740)"],
  ["mark-ink", "light-dark(#15202A, #15202A)"],
  ["wrong", "light-dark(#AD3410, #FF9A73)"],
  ["wrong-edge", "light-dark(#C9481F, #D9683F)"],
  ["wrong-tint", "light-dark(#FBEAE3, #331C13)"],
  ["own-ink", "light-dark(#15202A, #FFFFFF)"],
  ["own-r0", "light-dark(#769AE2, #13427D)"],
  ["own-r0-edge", "light-dark(#2F55A8, #7FB0F0)"],
  ["own-r1", "light-dark(#E89E6A, #7D4809)"],
  ["own-r1-edge", "light-dark(#9A4E12, #E5A35C)"],
  ["own-r2", "light-dark(#95E8C0, #0B7A69)"],
  ["own-r2-edge", "light-dark(#0B7A52, #4FC3AE)"],
  ["own-r3", "light-dark(#B68897, #691F40)"],
  ["own-r3-edge", "light-dark(#7A4557, #DB86A8)"],
  ["own-r4", "light-dark(#C7BBF9, #6E59A9)"],
  ["own-r4-edge", "light-dark(#5B49A8, #B3A2EE)"],
  ["own-cache", "light-dark(#44525D, #B9C4CB)"],
  ["own-cache-edge", "light-dark(#15202A, #E3E9EC)"],
  ["own-cache-ink", "light-dark(#FFFFFF, #10171C)"],
  ["own-free", "light-dark(#FFFFFF, #12181D)"],
  ["own-free-edge", "light-dark(#72818B, #75858F)"],
  ["own-free-ink", "light-dark(#5A6873, #94A2AB)"],
  [
    "font-text",
    '"Plex", "PingFang SC", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Microsoft YaHei", system-ui, sans-serif',
  ],
  [
    "font-code",
    '"Plex Mono", ui-monospace, "Cascadia Mono", "PingFang SC", "Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", monospace',
  ],
];

/** In the player a token is called `--a-NAME`. */
const own = tokens.map(([name, value]) => `--a-${name}: var(--${name}, ${value});`).join("\n");

const owners = [0, 1, 2, 3, 4]
  .map((i) => `.o${i} { --c: var(--a-own-r${i}); --e: var(--a-own-r${i}-edge); --i: var(--a-own-ink); }`)
  .join("\n");

export const css = `
:host { display: block; container-type: inline-size; }
.player {
${own}
--t-move: 280ms;
position: relative; background: var(--a-surface); color: var(--a-ink); padding: 16px;
border-top: 1px solid var(--a-line-strong); border-bottom: 1px solid var(--a-line-strong);
font: 400 0.875rem/1.45 var(--a-font-text); text-autospace: normal; line-break: strict; text-align: start;
}
.player:lang(zh) { line-height: 1.5; }
.player *, .player *::before, .player *::after { box-sizing: border-box; }
.player p, .player ol, .player ul, .player dl, .player dd, .player figure { margin: 0; padding: 0; list-style: none; }
.player :focus-visible { outline: 2px solid var(--a-pen); outline-offset: 2px; border-radius: 2px; }
.vh { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
${owners}
.cache { --c: var(--a-own-cache); --e: var(--a-own-cache-edge); --i: var(--a-own-cache-ink); }
.free { --c: var(--a-own-free); --e: var(--a-own-free-edge); --i: var(--a-own-free-ink); }
.new { --c: var(--a-sunken); --e: var(--a-ink-2); --i: var(--a-ink); }
.lost { --c: var(--a-wrong-tint); --e: var(--a-wrong-edge); --i: var(--a-wrong); }
.who { display: inline-block; min-width: 2.2rem; padding: 1px 6px; text-align: center; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 600 0.75rem/1.4 var(--a-font-code); }
.who:lang(zh) { font-family: var(--a-font-text); }
.who.free { border-style: dashed; font-weight: 400; }
.facts { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; font-size: 0.8125rem; color: var(--a-ink-2); font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: 4px; margin-left: auto !important; }
.stage { position: relative; margin-top: 12px; min-width: 0; }
.scroll { overflow-x: auto; }
.caption { margin-top: 12px; padding-left: 12px; border-left: 1px solid var(--a-line); min-height: 3.6rem; display: flex; flex-direction: column; gap: 4px; }
.cap { font-size: 1rem; line-height: 1.5; text-wrap: pretty; }
.alert { color: var(--a-wrong); font-weight: 600; }
.did { display: flex; align-items: baseline; gap: 12px; font-size: 0.8125rem; min-width: 0; }
.did mark { flex: none; white-space: nowrap; background: var(--a-mark); color: var(--a-mark-ink); padding: 0 4px; }
.did code { font: 400 0.8125rem/1.4 var(--a-font-code); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; min-width: 0; }
.deck { margin-top: 12px; display: flex; align-items: center; gap: 12px; }
.transport { display: flex; }
.transport button { width: 36px; height: 36px; padding: 0; margin-left: -1px; display: grid; place-items: center; border: 1px solid var(--a-line-control); background: var(--a-surface); color: var(--a-ink); cursor: pointer; }
.transport button:first-child { border-radius: 4px 0 0 4px; margin-left: 0; }
.transport button:last-child { border-radius: 0 4px 4px 0; }
.transport button:hover, .transport button:focus-visible { border-color: var(--a-ink); z-index: 1; position: relative; }
.transport button:active { background: var(--a-sunken); }
.transport svg { width: 16px; height: 16px; fill: currentColor; }
.speed { height: 36px; padding: 0 4px; border: 1px solid var(--a-line-control); border-radius: 4px; background: var(--a-surface); color: var(--a-ink); font: 400 0.8125rem/1 var(--a-font-text); }
.scrub { position: relative; flex: 1; height: 36px; min-width: 0; }
.ticks { position: absolute; inset: 0; display: flex; gap: 1px; align-items: stretch; }
.ticks.dense { gap: 0; }
.ticks i { flex: 1; position: relative; min-width: 0; white-space: nowrap; border-bottom: 2px solid var(--a-line-strong); font: 600 11px/20px var(--a-font-code); color: var(--a-mark-ink); }
.ticks i.past { border-bottom-color: var(--a-ink-2); }
.ticks i.mine { background: var(--a-mark); border-bottom-color: var(--a-mark-edge); margin: 7px 0; }
.ticks i.call { padding-left: 3px; }
.ticks i.mine + i.mine.call { margin-left: 3px; }
.ticks i.bad::before { content: ""; position: absolute; left: 50%; bottom: 2px; width: 6px; height: 6px; margin-left: -3px; background: var(--a-wrong-edge); transform: rotate(45deg); }
.ticks i.now::after { content: ""; position: absolute; left: 50%; top: -3px; bottom: -3px; border-left: 3px solid var(--a-ink); transform: translateX(-50%); }
.ticks i.mine.now::after { top: -10px; bottom: -10px; }
.scrub input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: ew-resize; }
.scrub:has(input:focus-visible) { outline: 2px solid var(--a-pen); outline-offset: 3px; }
.pos { min-width: 4.2rem; text-align: right; color: var(--a-ink-2); font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
.as-text { margin-top: 12px; }
.as-text summary { color: var(--a-pen); cursor: pointer; width: max-content; min-height: 24px; }
.as-text ol { columns: 2; column-gap: 32px; margin-top: 8px; font-size: 0.8125rem; color: var(--a-ink-2); }
.as-text li { position: relative; padding: 1px 0 1px 2.6rem; break-inside: avoid; }
.as-text li::before { content: attr(data-step); position: absolute; left: 0; width: 2rem; text-align: right; color: var(--a-ink-3); font-variant-numeric: tabular-nums; }
.as-text li.bad { color: var(--a-wrong); }
.as-text button { margin-top: 8px; height: 36px; padding: 0 12px; border: 1px solid var(--a-line-control); border-radius: 4px; background: var(--a-surface); color: var(--a-ink); font: inherit; cursor: pointer; }
.notice { margin: 0 0 8px; padding: 4px 8px; background: var(--a-sunken); color: var(--a-ink-2); font-size: 0.8125rem; }
@container (max-width: 560px) {
  .player { padding: 12px; }
  .deck { flex-wrap: wrap; gap: 8px 12px; }
  .scrub { flex: 1 0 100%; order: 2; height: 44px; }
  .transport button { width: 44px; height: 44px; }
  .speed { height: 44px; }
  .pos { margin-left: auto; }
  .as-text ol { columns: 1; }
  .as-text summary { min-height: 44px; padding-top: 10px; }
  .legend { margin-left: 0 !important; }
}
@media (prefers-reduced-motion: reduce) { .player { --t-move: 0ms; } }
@media (forced-colors: active) { .ticks i.mine, .who { forced-color-adjust: none; } }
`;
