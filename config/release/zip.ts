import { crc32, deflateRawSync } from "node:zlib";
import { type ReleaseFile, sortedByPath } from "./files.ts";

/** A zip archive, for Windows; like the tar archives it depends on nothing but the files and the commit's time. */
export function zip(files: readonly ReleaseFile[], time: Date): Uint8Array {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, bytes } of sortedByPath(files)) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes, { level: 9 });
    const facts = entryFacts(name, bytes, packed, time);
    const head = Buffer.concat([number(0x04034b50, 4), facts, number(0, 2), name]);
    local.push(head, packed);
    directory.push(
      // Made by version 2.0 of the format; no comment, first disk, no attributes.
      Buffer.concat([number(0x02014b50, 4), number(20, 2), facts, Buffer.alloc(12), number(offset, 4), name]),
    );
    offset += head.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const count = number(directory.length, 2);
  const end = [
    number(0x06054b50, 4),
    number(0, 4),
    count,
    count,
    number(listed.length, 4),
    number(offset, 4),
  ];
  return Buffer.concat([...local, listed, ...end, number(0, 2)]);
}

/** The fields that a file's own header and the directory share, up to the length of the name. */
function entryFacts(name: Buffer, bytes: Uint8Array, packed: Uint8Array, time: Date): Buffer {
  const day = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  const clock =
    (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | Math.floor(time.getUTCSeconds() / 2);
  const deflated = 8;
  return Buffer.concat([
    ...[20, 0, deflated, clock, day].map((value) => number(value, 2)),
    ...[crc32(bytes), packed.length, bytes.length].map((value) => number(value, 4)),
    number(name.length, 2),
  ]);
}

function number(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntLE(value, 0, size);
  return bytes;
}
