// Compiles Python inside Pyodide, whose bytecode no other interpreter writes, and packs it.
// usage: node pack.mjs JOB.json; a job is {"pyodide": folder, "packs": [{folder, prefix, kind, out}]}.
// kind "tar": unpacked below `prefix` in the tab. kind "zip": stays a zip there, which Python imports from.
// Both are gzipped as a whole, which is smaller than a compressed zip and quicker to read.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { loadPyodide } = await import(pathToFileURL(path.join(job.pyodide, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: job.pyodide + path.sep });

python.runPython(`
import gzip, io, pathlib, py_compile, tarfile, zipfile

def compile_tree(root, prefix):
    """Replace each .py by its .pyc, which is taken as it is: nothing in the tab has the source's time."""
    for source in sorted(root.rglob("*.py")):
        py_compile.compile(
            str(source),
            cfile=str(source.with_suffix(".pyc")),
            dfile=f"{prefix}/{source.relative_to(root)}",
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        source.unlink()

def members(root):
    return [(str(p.relative_to(root)), p.read_bytes()) for p in sorted(root.rglob("*")) if p.is_file()]

def pack_zip(root):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members(root):
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()

def pack_tar(root):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members(root):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()

def pack(root, prefix, kind):
    compile_tree(pathlib.Path(root), prefix)
    packed = {"tar": pack_tar, "zip": pack_zip}[kind](pathlib.Path(root))
    return gzip.compress(packed, 9, mtime=0)
`);

for (const [number, { folder, prefix, kind, out }] of job.packs.entries()) {
  const root = `/in${number}`;
  copyIn(folder, root);
  const call = python.globals.get("pack");
  const packed = call(root, prefix, kind);
  fs.writeFileSync(out, packed.toJs());
  packed.destroy();
  call.destroy();
}

/** Into Pyodide's own memory: compiling through a mounted folder takes several times as long. */
function copyIn(from, to) {
  python.FS.mkdirTree(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), `${to}/${entry.name}`];
    if (entry.isDirectory()) copyIn(source, target);
    else python.FS.writeFile(target, new Uint8Array(fs.readFileSync(source)));
  }
}
