export const css = `
.long { padding-bottom: 6px; min-height: 138px; }
.long .head { margin-bottom: 6px; font-size: 0.8125rem; color: var(--a-ink-2); }
.long .empty { color: var(--a-ink-3); padding-top: 8px; }
.strip { display: grid; grid-template-columns: 5rem repeat(var(--n), minmax(2.1rem, 2.75rem)); gap: 2px 2px; width: max-content; font: 400 0.75rem/1 var(--a-font-code); }
.strip .lab { position: sticky; left: 0; background: var(--a-surface); font: 400 0.8125rem/1.2 var(--a-font-text); color: var(--a-ink-2); align-self: center; }
.strip span { min-height: 1.5rem; display: grid; place-items: center; }
.strip .lab { justify-items: start; }
.strip .pos-no { color: var(--a-ink-3); min-height: 1.1rem; }
.strip .tok { border: 1px solid var(--a-line-control); border-radius: 2px; }
.strip .loc { border: 1px solid var(--e); background: var(--c); color: var(--i); border-radius: 2px; font-weight: 600; }
.strip .loc.unset { background: none; border: 1px dashed var(--a-line-control); }
.strip .loc.hit { border-bottom-width: 4px; border-bottom-color: var(--a-own-cache-edge); }
.strip .wrote { outline: 2px solid var(--a-ink); outline-offset: 0; z-index: 1; }
.strip .pageno { border-top: 2px solid var(--a-ink-2); padding-top: 4px; color: var(--a-ink-2); font-family: var(--a-font-text); min-height: 1.4rem; white-space: nowrap; overflow: hidden; }
.sum { min-height: 1.4rem; font: 400 0.8125rem/1.6 var(--a-font-code); color: var(--a-ink-2); }
.player:lang(zh) .sum { font-family: var(--a-font-text); }
.foot { min-height: 1.6rem; margin-bottom: 8px; font-size: 0.8125rem; line-height: 1.6; font-variant-numeric: tabular-nums; }
.word { margin-top: 10px !important; font-size: 0.8125rem; color: var(--a-ink-2); }
.rows { display: grid; gap: 3px; margin-top: 4px; min-height: 5.5rem; align-content: start; }
.row { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; padding: 2px 4px; }
.row.shown { box-shadow: inset 3px 0 var(--a-ink); background: var(--a-sunken); }
.row .no { width: 3.6rem; font-size: 0.75rem; color: var(--a-ink-2); }
.row .pg { min-width: 2rem; padding: 3px 4px; text-align: center; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 600 0.75rem/1.2 var(--a-font-code); }
.mini { display: grid; grid-template-columns: repeat(auto-fill, minmax(2.75rem, 1fr)); gap: 3px; margin-top: 4px; }
.pcell { min-width: 0; height: 2.4rem; padding: 2px 4px; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 400 0.75rem/1.3 var(--a-font-code); overflow: hidden; transition: background var(--t-move); }
.pcell.free { border-style: dashed; }
.pcell b { display: block; font-weight: 400; }
.pcell i { display: block; font-style: normal; font-weight: 600; white-space: nowrap; }
`;
