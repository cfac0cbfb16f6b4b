export const css = `
.deed { min-height: 1.6rem; color: var(--a-ink); font: 400 0.9375rem/1.6 var(--a-font-code); overflow-wrap: anywhere; }
.deed b { font-weight: 600; }
.deed .gave { color: var(--a-ink-2); }
.deed .gave.raised { color: var(--a-wrong); }
.floor { position: relative; margin-top: 8px; }
.lane { position: absolute; left: 0; margin: 0; font-size: 0.8125rem; line-height: 24px; color: var(--a-ink-2); }
.place, .tile { position: absolute; left: 0; top: 0; width: 72px; height: 64px; border-radius: 2px; }
.place { border: 1px dashed var(--a-line); }
.tile { display: grid; grid-template-columns: auto 1fr; align-content: space-between; padding: 5px 6px; overflow: hidden; border: 1px solid var(--e); background: var(--c); color: var(--i); font: 400 0.75rem/1.3 var(--a-font-code); transition: transform var(--t-move) cubic-bezier(.2, .7, .2, 1), background var(--t-move), border-color var(--t-move); }
.tile.free { border-style: dashed; }
.tile.lost { border-width: 2px; }
.tile b { font-size: 1.0625rem; font-weight: 600; line-height: 1.2; }
.tile .ref { text-align: right; white-space: nowrap; }
.player:lang(zh) .tile .ref { font-family: var(--a-font-text); }
.tile .key { grid-column: 1 / -1; min-height: 1.3em; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tile .key.named { justify-self: start; max-width: 100%; padding: 0 5px; border: 1px solid currentColor; border-radius: 2px; font-weight: 600; }
.tile .lost-key { border-style: dashed; text-decoration: line-through; text-decoration-thickness: 1.5px; }
.tile.at { outline: 2px solid var(--a-ink); outline-offset: 1px; }
@media (forced-colors: active) { .tile { forced-color-adjust: none; } }
`;
