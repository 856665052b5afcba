import type { FormFile } from "../route.ts";
import { declaredSeconds } from "./declared-length.ts";
import { wavSeconds } from "./wav.ts";

/** Bytes for a second of sound. */
interface ByteRates {
  readonly least: number;
  /** Where nobody says how long a file is. */
  readonly usual: number;
}

/** The lowest rate of MP3 is 8 kbit/s. */
const ofMostKinds: ByteRates = { least: 1000, usual: 16_000 };
/** Speech has less in some kinds, such as 4.75 kbit/s in AMR and 6 in Opus, and silence next to nothing. */
const leastOfAll = 500;

/** Kinds of files that may have fewer bytes than most, by their mark and its place. */
const sparseKinds: readonly (readonly [mark: string, at: number, usual: number])[] = [
  ["OpusHead", 28, 4000],
  ["Speex", 28, 2000],
  ["#!AMR", 0, 1600],
  ["fLaC", 0, ofMostKinds.usual],
  // WebM, MP4 and WAV that is compressed may hold any of them.
  ["\x1aE\xdf\xa3", 0, ofMostKinds.usual],
  ["ftyp", 4, ofMostKinds.usual],
  ["RIFF", 0, ofMostKinds.usual],
];

/** Samples of a studio as they are: stereo with 24 bits, 48,000 a second. No file plays for less than its bytes have then. */
const mostPerSecond = 288_000;

/** None of OpenAI's files has more bytes. */
const mostBytes = 25 * 1024 * 1024;

/** The length of the sound: exactly for WAV, else the most that it can be, or what it declares, or what is usual for its kind. */
export function secondsOf(files: readonly FormFile[], rate: keyof ByteRates): number {
  return files.reduce((sum, file) => sum + (wavSeconds(file.start, file.bytes) ?? estimated(file, rate)), 0);
}

export function isWav(files: readonly FormFile[]): boolean {
  return files.length > 0 && files.every(({ start, bytes }) => wavSeconds(start, bytes) !== null);
}

/** A length that a file declares does not make it shorter than it can be: the sender wrote it, and players go on to the end. */
function estimated(file: FormFile, rate: keyof ByteRates): number {
  const rates = ratesOf(Buffer.from(file.start));
  const declared = declaredSeconds(file);
  const perSecond = rate === "usual" && declared > 0 ? mostPerSecond : rates[rate];
  return Math.min(Math.max(file.bytes / perSecond, declared), mostBytes / rates.least);
}

/** Sound in JSON comes without a start, so that it may be of any kind. */
function ratesOf(header: Buffer): ByteRates {
  const kind = sparseKinds.find(([mark, at]) => header.toString("latin1", at, at + mark.length) === mark);
  if (kind === undefined && header.length > 0) return ofMostKinds;
  return { least: leastOfAll, usual: kind?.[2] ?? ofMostKinds.usual };
}
