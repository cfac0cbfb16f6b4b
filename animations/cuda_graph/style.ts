export const css = `
.word { margin-top: 8px !important; font-size: 0.8125rem; color: var(--a-ink-2); }
.graphs { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 4px; min-height: 3.4rem; align-items: flex-end; }
.graph { min-width: 3.6rem; padding: 4px 8px; border: 1px solid var(--a-line-control); border-radius: 2px; background: var(--a-own-free); text-align: center; font-size: 0.75rem; color: var(--a-ink-2); }
.graph b { display: block; font: 600 1rem/1.3 var(--a-font-code); color: var(--a-ink); }
.graph.now { background: var(--a-own-cache); border-color: var(--a-own-cache-edge); color: var(--a-own-cache-ink); outline: 2px solid var(--a-ink); outline-offset: 1px; }
.graph.now b { color: var(--a-own-cache-ink); }
.none { color: var(--a-ink-3); font-size: 0.8125rem; padding: 6px 0; }
.shelf { display: grid; gap: 3px; margin-top: 4px; min-height: 6.2rem; align-content: start; }
.line { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; }
.line .lab { width: 5.5rem; font: 400 0.75rem/1 var(--a-font-code); color: var(--a-ink-2); }
.line .slot { min-width: 3.2rem; padding: 5px 6px; text-align: center; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 600 0.75rem/1.2 var(--a-font-code); }
.player:lang(zh) .line .slot { font-family: var(--a-font-text); }
.line .slot.dummy { border: 1px dashed var(--a-line-control); color: var(--a-ink-3); font-weight: 400; background: none; }
.stage > .facts { margin-top: 8px; }
`;
