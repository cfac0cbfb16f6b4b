/** The parts of Pyodide's file system that are used here. */
export interface Files {
  mkdirTree(path: string): void;
  writeFile(path: string, data: Uint8Array): void;
}

const BLOCK = 512;
const decoder = new TextDecoder();

/** Write the files of a tar archive (USTAR, files only, as tools/runtime/pack.mjs makes them) below `base`. */
export function untar(files: Files, archive: Uint8Array, base: string): void {
  const made = new Set<string>();
  let offset = 0;
  while (offset + BLOCK <= archive.length) {
    const header = archive.subarray(offset, offset + BLOCK);
    const name = text(header, 0, 100);
    if (name === "") return;
    const size = Number.parseInt(text(header, 124, 12), 8);
    const folder = text(header, 345, 155);
    const path = `${base}/${folder === "" ? "" : `${folder}/`}${name}`;
    const parent = path.slice(0, path.lastIndexOf("/"));
    if (!made.has(parent)) files.mkdirTree(parent);
    made.add(parent);
    offset += BLOCK;
    files.writeFile(path, archive.subarray(offset, offset + size));
    offset += Math.ceil(size / BLOCK) * BLOCK;
  }
}

function text(header: Uint8Array, start: number, length: number): string {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return decoder.decode(end < 0 ? field : field.subarray(0, end));
}
