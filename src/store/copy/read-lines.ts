import { readSync } from "node:fs";

export interface Line {
  readonly text: Buffer;
  /** Index of the next line. */
  readonly end: number;
  /** False for what follows the last line break. */
  readonly isComplete: boolean;
}

const chunkBytes = 1024 * 1024;
/** Longer than any row, shorter than a string can be. */
const maxLineBytes = 512 * 1024 * 1024;
const lineBreak = 0x0a;

/** Reads a file from a position on. Holds one line in memory; null stands for a line that is too long. */
export function* readLines(descriptor: number, from = 0): Generator<Line | null> {
  let pieces: Buffer[] = [];
  let length = 0;
  let place = from;
  const take = (piece: Buffer): void => {
    pieces.push(piece);
    length += piece.length;
  };
  const joined = (): Buffer => {
    const text = Buffer.concat(pieces);
    pieces = [];
    length = 0;
    return text;
  };
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const read = readSync(descriptor, chunk, 0, chunkBytes, place);
    if (read === 0) break;
    let begin = 0;
    for (let end = chunk.indexOf(lineBreak); end >= 0 && end < read; end = chunk.indexOf(lineBreak, begin)) {
      take(chunk.subarray(begin, end));
      begin = end + 1;
      yield { text: joined(), end: place + begin, isComplete: true };
    }
    take(chunk.subarray(begin, read));
    place += read;
    if (length > maxLineBytes) return yield null;
  }
  if (length > 0) yield { text: joined(), end: place, isComplete: false };
}
