export const css = `
.pool { display: grid; grid-template-columns: repeat(var(--cols), minmax(0, 1fr)); gap: 2px 4px; margin-top: 8px; }
.cell { position: relative; min-width: 0; }
.cell .at { display: block; height: 18px; font: 400 0.75rem/18px var(--a-font-code); color: var(--a-ink-3); }
.cell .box { position: relative; height: 48px; padding-bottom: 9px; display: grid; place-items: center; overflow: hidden; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 600 0.8125rem/1 var(--a-font-code); transition: background var(--t-move) cubic-bezier(.2, .7, .2, 1), color var(--t-move), border-color var(--t-move); }
.player:lang(zh) .cell .box { font-family: var(--a-font-text); }
.cell.free .box { border-style: dashed; font-weight: 400; font-size: 0.75rem; }
.cell.lost .box { border-width: 2px; font-size: 0.6875rem; text-align: center; }
.cell.new .box { border-style: dotted; font-weight: 400; font-size: 0.75rem; }
.cell .fill { position: absolute; left: 4px; right: 4px; bottom: 4px; height: 6px; display: grid; grid-template-columns: repeat(var(--size), 1fr); gap: 2px; }
.cell .fill.bar { display: block; border: 1px solid currentColor; }
.cell .fill i { border: 1px solid currentColor; opacity: 0.55; }
.cell .fill i.in { background: currentColor; opacity: 1; }
.cell .fill.bar i { display: block; height: 100%; border: 0; background: currentColor; opacity: 1; }
.cell.free .fill { visibility: hidden; }
.cell .by { display: block; height: 16px; margin-top: 2px; font: 400 11px/16px var(--a-font-code); color: var(--a-ink-2); white-space: nowrap; overflow: hidden; text-align: center; letter-spacing: -0.02em; }
.cell.touched .box { outline: 2px solid var(--a-ink); outline-offset: 1px; }
.cell.freed .box { outline-color: var(--a-wrong-edge); color: var(--a-ink); background: repeating-linear-gradient(135deg, var(--a-wrong-edge) 0 1.5px, transparent 1.5px 7px), var(--a-own-free); }
.cell.freed .box > span { background: var(--a-surface); padding: 2px 3px; }
.tight .cell .box, .tight .cell.free .box { font-size: 0.6875rem; }
.tight .cell .fill { left: 2px; right: 2px; gap: 1px; }
.rest { margin-top: 4px !important; font-size: 0.8125rem; color: var(--a-ink-3); }
.rowpart { display: grid; grid-template-columns: 5.5rem minmax(0, 1fr); margin-top: 44px; align-items: start; }
.packed .rowpart { margin-top: 12px; }
.rowlabel { font-size: 0.8125rem; line-height: 1.35; color: var(--a-ink-2); padding-top: 4px; }
.rowlabel b { display: block; color: var(--a-ink); font-weight: 600; }
.rowview { display: grid; grid-template-columns: repeat(var(--rn), minmax(1.6rem, 6.5rem)); gap: 0 4px; align-content: start; min-height: 108px; }
.rcell { grid-row: 1; position: relative; display: grid; place-items: center; height: 34px; min-width: 0; border: 1px solid var(--e); border-radius: 2px; background: var(--c); color: var(--i); font: 600 0.8125rem/1 var(--a-font-code); }
.rcell.free { border-style: dashed; }
.rcell s { margin-right: 0.4em; font-weight: 400; text-decoration-thickness: 1.5px; }
.rcell.moved { outline: 2px solid var(--a-ink); outline-offset: 1px; }
.rspan { grid-row: 2; margin-top: 5px; height: 20px; border: 1px solid var(--a-ink); display: grid; place-items: center; font: 600 0.75rem/1 var(--a-font-code); min-width: 0; }
.rspan b { background: var(--a-surface); padding: 1px 4px; font-weight: 600; }
.rspan.A { background: light-dark(#D8DFE2, #2B363E); }
.rspan.B { background: repeating-linear-gradient(135deg, var(--a-wrong-edge) 0 1.5px, transparent 1.5px 7px); }
.rspan.C { background: repeating-linear-gradient(90deg, var(--a-ink-3) 0 1px, transparent 1px 6px); }
.rspan.D { background: radial-gradient(var(--a-ink-3) 1px, transparent 1.2px) 0 0 / 6px 6px; }
.rnote { grid-row: 3; padding-top: 4px; font-size: 0.75rem; line-height: 1.35; color: var(--a-ink-2); min-width: 0; }
.rnote.now { color: var(--a-ink); font-weight: 600; }
.rnote span { display: block; font: 400 11px/1.4 var(--a-font-code); color: var(--a-ink-3); }
.rempty { grid-column: 1 / -1; color: var(--a-ink-3); padding-top: 6px !important; }
.wires { position: absolute; inset: 0; width: 100%; height: 100%; pointer-events: none; overflow: visible; }
.wires path { fill: none; stroke: var(--a-ink-3); stroke-width: 1.5; }
.wires path.again { stroke: var(--a-ink); stroke-width: 2.25; }
.wires path.gone { stroke: var(--a-wrong-edge); stroke-width: 1.75; stroke-dasharray: 4 4; }
.packed .wires { display: none; }
@container (max-width: 560px) {
  .rowpart { grid-template-columns: minmax(0, 1fr); row-gap: 4px; }
  .rowlabel b { display: inline; margin-right: 0.5em; }
}
`;
