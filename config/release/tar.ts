import { foldersOf, type ReleaseFile } from "./files.ts";

const block = 512;
const noBytes = new Uint8Array();

/**
 * A tar archive (ustar) in which nothing depends on the machine: sorted, everything is root's and as old as the commit.
 * `prefix` stands before each path; Debian's packages want `./`.
 */
export function tar(files: readonly ReleaseFile[], time: Date, prefix = ""): Uint8Array<ArrayBuffer> {
  const folders = foldersOf(files).map((path) => ({
    path: `${path}/`,
    mode: 0o755,
    type: "5",
    bytes: noBytes,
  }));
  const plain = files.map(({ path, bytes, isExecutable }) => ({
    path,
    mode: isExecutable ? 0o755 : 0o644,
    type: "0",
    bytes,
  }));
  const parts: Uint8Array[] = [];
  for (const entry of [...folders, ...plain].toSorted((one, other) => (one.path < other.path ? -1 : 1))) {
    parts.push(header({ ...entry, path: prefix + entry.path }, time), entry.bytes);
    parts.push(new Uint8Array(-entry.bytes.length & (block - 1)));
  }
  // Two empty blocks end the archive.
  return Buffer.concat([...parts, new Uint8Array(2 * block)]);
}

interface Entry {
  readonly path: string;
  readonly mode: number;
  readonly type: string;
  readonly bytes: Uint8Array;
}

function header(entry: Entry, time: Date): Uint8Array {
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`${entry.path} is too long for a tar archive`);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, width: number) =>
    bytes.write(value.toString(8).padStart(width - 1, "0"), at);
  bytes.write(entry.path, 0);
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.bytes.length, 124, 12);
  octal(Math.floor(time.getTime() / 1000), 136, 12);
  bytes.write("        ", 148);
  bytes.write(entry.type, 156);
  bytes.write("ustar\u000000", 257);
  bytes.write("root", 265);
  bytes.write("root", 297);
  octal(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  bytes[154] = 0;
  return bytes;
}
