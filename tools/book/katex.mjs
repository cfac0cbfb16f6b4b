// Reads [{tex, display}] from standard input, writes [{html} or {error}]. The argument is KaTeX's module.
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(process.argv[2]).href);
let text = "";
for await (const piece of process.stdin) text += piece;
const set = ({ tex, display }) => {
  try {
    return { html: katex.renderToString(tex, { displayMode: display, strict: "error", trust: false }) };
  } catch (error) {
    return { error: error.message };
  }
};
process.stdout.write(JSON.stringify(JSON.parse(text).map(set)));
