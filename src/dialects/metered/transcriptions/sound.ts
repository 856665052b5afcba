import { asBuffer } from "../../../base/bytes.ts";
import type { FormFile } from "../route.ts";
import type { DeclaredSound } from "./declared-sound.ts";
import { flacSeconds } from "./flac.ts";
import { isMp3, mp3Seconds } from "./mp3.ts";
import { mp4Sound } from "./mp4.ts";
import { oggSeconds } from "./ogg.ts";
import { wavSeconds } from "./wav.ts";
import { webmSound } from "./webm.ts";

/** Bytes for a second of sound. */
interface ByteRates {
  /** The lowest usual rate. Holds use it, and so do charges for a file without a declared duration. */
  readonly min: number;
  /**
   * The highest usual rate. A file with a higher one is longer than it declares: the sender can write anything, and
   * players read to the end.
   */
  readonly max: number;
}

/** 8 kbit/s and 320 kbit/s, of MP3. */
const usualRates: ByteRates = { min: 1000, max: 40_000 };
/** Speech has less in some kinds, such as 4.75 kbit/s in AMR and 6 in Opus, and silence next to nothing. */
const min = 500;

/** Kinds of files that may have fewer bytes than most, by their mark and its place. */
const sparseKinds: readonly (readonly [mark: string, at: number, most: number])[] = [
  ["OpusHead", 28, 64_000],
  ["Speex", 28, 5500],
  ["#!AMR", 0, 3000],
  // Uncompressed studio quality: stereo, 24 bits, 48 kHz.
  ["fLaC", 0, 288_000],
  // WebM, MP4 and WAV that is compressed may hold any of them.
  ["\x1aE\xdf\xa3", 0, usualRates.max],
  ["ftyp", 4, usualRates.max],
  ["RIFF", 0, usualRates.max],
];

/** None of OpenAI's files has more bytes. */
const maxBytes = 25 * 1024 * 1024;

/** The length of the sound where the provider does not report it: exactly for WAV, else what it declares, else the most that it can be. */
export function secondsOf(files: readonly FormFile[]): number {
  return files.reduce((sum, file) => sum + (wavSeconds(file.start, file.bytes) ?? estimated(file)), 0);
}

/** Maximum possible duration, whatever the files declare; exact for WAV. */
export function maxSecondsOf(files: readonly FormFile[]): number {
  return files.reduce((sum, file) => sum + (wavSeconds(file.start, file.bytes) ?? maxSecondsIn(file)), 0);
}

export function isWav(files: readonly FormFile[]): boolean {
  return files.length > 0 && files.every(({ start, bytes }) => wavSeconds(start, bytes) !== null);
}

function estimated(file: FormFile): number {
  const { seconds, bytes } = declaredSound(file);
  if (seconds === 0) return maxSecondsIn(file);
  return Math.min(Math.max(seconds, bytes / ratesOf(file).max), maxSecondsIn(file));
}

/** Silence has hardly any bytes, so the declared length can exceed an estimate from them. */
function maxSecondsIn(file: FormFile): number {
  const rates = ratesOf(file);
  return Math.min(Math.max(file.bytes / rates.min, declaredSound(file).seconds), maxBytes / rates.min);
}

/** Audio in JSON can lack its start, so its kind is unknown. */
function ratesOf({ start }: FormFile): ByteRates {
  const header = asBuffer(start);
  const kind = sparseKinds.find(([mark, at]) => header.toString("latin1", at, at + mark.length) === mark);
  if (kind === undefined) return header.length > 0 ? usualRates : { ...usualRates, min };
  return { min, max: kind[2] };
}

type Reader = (start: Buffer, end: Buffer, bytes: number) => number | DeclaredSound;

/** Readers by a file type's signature and its position. */
const readers: readonly (readonly [mark: string, at: number, read: Reader])[] = [
  ["fLaC", 0, flacSeconds],
  ["OggS", 0, oggSeconds],
  ["ftyp", 4, mp4Sound],
  ["\x1aE\xdf\xa3", 0, webmSound],
];

/** Cached, because a request needs it several times. */
const known = new WeakMap<FormFile, DeclaredSound>();

/**
 * The declared duration of a file; 0 seconds if it declares none in the inspected parts. The sender writes it, and can
 * write anything.
 */
function declaredSound(file: FormFile): DeclaredSound {
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
