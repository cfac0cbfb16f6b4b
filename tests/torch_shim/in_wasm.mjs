// Run a Python file in Pyodide under Node: node in_wasm.mjs PYODIDE_FOLDER NUMPY_WHEEL ROOT FILE
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, wheel, root, file] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/` });
const bytes = readFileSync(wheel);
python.unpackArchive(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "wheel");
python.FS.mkdir("/root_of_course");
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/root_of_course");
const paths = ["web/torch_shim", "web/tab_io", "tests/torch_shim", ""].map((part) => `/root_of_course/${part}`);
python.runPython(`import sys; sys.dont_write_bytecode = True; sys.path[:0] = ${JSON.stringify(paths)}`);
await python.runPythonAsync(readFileSync(file, "utf8"));
