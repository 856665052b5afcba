import { asBuffer } from "../../../base/bytes/as-buffer.ts";
import type { FormFile } from "../route.ts";
import type { DeclaredSound } from "./declared-sound.ts";
import { flacSeconds } from "./flac.ts";
import { isMp3, mp3Seconds } from "./mp3.ts";
import { mp4Sound } from "./mp4.ts";
import { oggSeconds } from "./ogg.ts";
import { webmSound } from "./webm.ts";

type Reader = (start: Buffer, end: Buffer, bytes: number) => number | DeclaredSound;

/** By the mark of a kind of file and its place. */
const readers: readonly (readonly [mark: string, at: number, read: Reader])[] = [
  ["fLaC", 0, flacSeconds],
  ["OggS", 0, oggSeconds],
  ["ftyp", 4, mp4Sound],
  ["\x1aE\xdf\xa3", 0, webmSound],
];

/** A request asks several times. */
const known = new WeakMap<FormFile, DeclaredSound>();

/**
 * How long a file says that it plays; 0 seconds if it does not, or not where it is looked at. The sender writes it, and may write
 * anything.
 */
export function declaredSound(file: FormFile): DeclaredSound {
  const sound = known.get(file) ?? readSound(file);
  known.set(file, sound);
  return sound;
}

function readSound({ start, end, bytes }: FormFile): DeclaredSound {
  const [first, last] = [asBuffer(start), asBuffer(end)];
  const reader = readers.find(([mark, at]) => first.toString("latin1", at, at + mark.length) === mark)?.[2];
  const read = reader ?? (isMp3(first) ? mp3Seconds : null);
  const sound = read?.(first, last, bytes) ?? 0;
  const declared = typeof sound === "number" ? { seconds: sound, bytes } : sound;
  return Number.isFinite(declared.seconds) ? declared : { seconds: 0, bytes };
}
