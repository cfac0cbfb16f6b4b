export const css = `
.progress { display: grid; gap: 4px; align-content: start; }
.prog { display: grid; grid-template-columns: 2.75rem minmax(6rem, 1fr) minmax(9rem, 1.4fr); gap: 8px; align-items: center; font-size: 0.8125rem; color: var(--a-ink-2); }
.prog .track { height: 12px; border: 1px solid var(--a-line-control); background: var(--a-own-free); overflow: hidden; }
.prog .track i { display: block; height: 100%; background: var(--c); border-right: 2px solid var(--e); transition: width var(--t-move); }
.prog.fallen .said { color: var(--a-wrong); font-weight: 600; }
.prog.fallen .track { background: repeating-linear-gradient(135deg, var(--a-wrong-edge) 0 1.5px, transparent 1.5px 7px); }
.budget { margin-top: 12px !important; font-size: 0.8125rem; color: var(--a-ink-2); }
.columns { display: flex; gap: 6px; margin-top: 4px; padding: 4px; min-height: 256px; overflow: hidden; }
.col { flex: 0 0 76px; display: grid; grid-template-columns: 1fr 1fr; align-content: start; }
.stack { grid-column: 1 / -1; display: flex; flex-direction: column; border: 1px solid var(--a-line-control); border-bottom: 2px solid var(--a-ink-3); background: var(--a-own-free); }
.col.now .stack { outline: 2px solid var(--a-ink); outline-offset: 1px; }
.part { flex: none; display: flex; gap: 4px; flex-wrap: wrap; align-items: center; align-content: center; justify-content: center; min-width: 0; overflow: hidden; border-bottom: 1px solid var(--e); background: var(--c); color: var(--i); font: 400 0.6875rem/1.2 var(--a-font-code); }
.part b { font-weight: 600; font-size: 0.75rem; }
.part i { font-style: normal; white-space: nowrap; }
.part.prompt { box-shadow: inset 4px 0 var(--e); }
.part.chunk { border-bottom: 3px dashed var(--e); }
.col .k, .col .n { margin-top: 6px; font: 400 0.75rem/1.3 var(--a-font-code); color: var(--a-ink-3); }
.col .n { text-align: right; color: var(--a-ink-2); }
.col.now .k { color: var(--a-ink); font-weight: 600; }
@container (max-width: 560px) {
  .prog { grid-template-columns: 2.75rem minmax(4rem, 1fr) minmax(7rem, 1.6fr); }
}
`;
