// Runs a built animation's fold. Standard input: {module, jobs: [{trace, ks}]}; prints, for each job, its steps, the
// states at `ks` both from the kept states and folded from the start, all notes, and how long the first took.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { module: path, jobs } = JSON.parse(readFileSync(0, "utf8"));
const animation = await import(pathToFileURL(path).href);
const results = jobs.map(({ trace, ks, folded = true, all = true }) => {
  const steps = animation.steps(trace);
  const wanted = ks.map((k) => (k < 0 ? steps.length + k : k));
  const began = performance.now();
  const at = animation.at(trace, wanted);
  const seconds = (performance.now() - began) / 1000;
  const notes = all ? animation.states(trace).map(({ note, alerts }) => ({ note, alerts })) : [];
  return { steps, at, seconds, notes, folded: folded ? wanted.map((k) => animation.fold(trace, k)) : [] };
});
process.stdout.write(JSON.stringify(results));
