import { asBuffer } from "../../../base/as-buffer.ts";
import type { FormFile } from "../route.ts";
import { declaredSeconds } from "./declared-length.ts";
import { isMp3, mp3Rates } from "./mp3.ts";
import { wavSeconds } from "./wav.ts";

/** Bytes for a second of sound. */
interface ByteRates {
  readonly least: number;
  /** Where nobody says how long a file is. */
  readonly usual: number;
  /**
   * The highest rate that a declared length is believed at. The sender may declare anything, so it is the usual one, unless the
   * sound itself has been looked at (MP3) or has no usual rate (FLAC).
   */
  readonly most: number;
}

/** The lowest rate of MP3 is 8 kbit/s. */
const ofMostKinds: ByteRates = { least: 1000, usual: mp3Rates.usual, most: mp3Rates.usual };
/** Speech has less in some kinds, such as 4.75 kbit/s in AMR and 6 in Opus, and silence next to nothing. */
const leastOfAll = 500;

/** Samples of a studio as they are: stereo with 24 bits, 48,000 a second. */
const studio = 288_000;

/** Kinds of files that may have fewer bytes than most, by their mark and its place. */
const sparseKinds: readonly (readonly [mark: string, at: number, usual: number, most?: number])[] = [
  ["OpusHead", 28, 4000],
  ["Speex", 28, 2000],
  ["#!AMR", 0, 1600],
  ["fLaC", 0, ofMostKinds.usual, studio],
  // WebM, MP4 and WAV that is compressed may hold any of them.
  ["\x1aE\xdf\xa3", 0, ofMostKinds.usual],
  ["ftyp", 4, ofMostKinds.usual],
  ["RIFF", 0, ofMostKinds.usual],
];

/** None of OpenAI's files has more bytes. */
const mostBytes = 25 * 1024 * 1024;

/** The length of the sound: exactly for WAV, else the most that it can be, or what it declares, or what is usual for its kind. */
export function secondsOf(files: readonly FormFile[], rate: "least" | "usual"): number {
  return files.reduce((sum, file) => sum + (wavSeconds(file.start, file.bytes) ?? estimated(file, rate)), 0);
}

export function isWav(files: readonly FormFile[]): boolean {
  return files.length > 0 && files.every(({ start, bytes }) => wavSeconds(start, bytes) !== null);
}

/** A length that a file declares does not make it shorter than it can be: the sender wrote it, and players read on to the end. */
function estimated(file: FormFile, rate: "least" | "usual"): number {
  const rates = ratesOf(asBuffer(file.start));
  const declared = declaredSeconds(file);
  const perSecond = rate === "usual" && declared > 0 ? rates.most : rates[rate];
  return Math.min(Math.max(file.bytes / perSecond, declared), mostBytes / rates.least);
}

/** Sound in JSON comes without a start, so that it may be of any kind. */
function ratesOf(header: Buffer): ByteRates {
  const kind = sparseKinds.find(([mark, at]) => header.toString("latin1", at, at + mark.length) === mark);
  if (kind === undefined && header.length > 0) {
    return isMp3(header) ? { ...ofMostKinds, most: mp3Rates.most } : ofMostKinds;
  }
  const [, , usual, most = usual] = kind ?? ["", 0, ofMostKinds.usual];
  return { least: leastOfAll, usual, most };
}
