import { asBuffer } from "../../../base/bytes/as-buffer.ts";
import type { FormFile } from "../route.ts";
import { flacSeconds } from "./flac.ts";
import { isMp3, mp3Seconds } from "./mp3.ts";
import { mp4Seconds } from "./mp4.ts";
import { oggSeconds } from "./ogg.ts";
import { webmSeconds } from "./webm.ts";

type Reader = (start: Buffer, end: Buffer, bytes: number) => number;

/** By the mark of a kind of file and its place. */
const readers: readonly (readonly [mark: string, at: number, read: Reader])[] = [
  ["fLaC", 0, flacSeconds],
  ["OggS", 0, oggSeconds],
  ["ftyp", 4, mp4Seconds],
  ["\x1aE\xdf\xa3", 0, webmSeconds],
];

/** A request asks several times. */
const known = new WeakMap<FormFile, number>();

/** How long a file says that it plays; 0 if it does not, or not where it is looked at. The sender writes it, and may write anything. */
export function declaredSeconds(file: FormFile): number {
  const seconds = known.get(file) ?? readSeconds(file);
  known.set(file, seconds);
  return seconds;
}

function readSeconds({ start, end, bytes }: FormFile): number {
  const [first, last] = [asBuffer(start), asBuffer(end)];
  const reader = readers.find(([mark, at]) => first.toString("latin1", at, at + mark.length) === mark)?.[2];
  const read = reader ?? (isMp3(first) ? mp3Seconds : null);
  const seconds = read?.(first, last, bytes) ?? 0;
  return Number.isFinite(seconds) ? seconds : 0;
}
