import type { FormFile } from "../route.ts";
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

/** None of OpenAI's files has more bytes. */
const mostBytes = 25 * 1024 * 1024;

/** The length of the sound: exactly for WAV, else the most that it can be, or what is usual for its kind. */
export function secondsOf(files: readonly FormFile[], rate: keyof ByteRates): number {
  return files.reduce((sum, file) => sum + (wavSeconds(file.start, file.bytes) ?? estimated(file, rate)), 0);
}

export function isWav(files: readonly FormFile[]): boolean {
  return files.length > 0 && files.every(({ start, bytes }) => wavSeconds(start, bytes) !== null);
}

/** A length that a FLAC file declares only counts if it is longer: the sender wrote it, and players go on to the end. */
function estimated({ start, bytes }: FormFile, rate: keyof ByteRates): number {
  const header = Buffer.from(start);
  const rates = ratesOf(header);
  return Math.min(Math.max(bytes / rates[rate], flacSeconds(header)), mostBytes / rates.least);
}

/** Sound in JSON comes without a start, so that it may be of any kind. */
function ratesOf(header: Buffer): ByteRates {
  const kind = sparseKinds.find(([mark, at]) => header.toString("latin1", at, at + mark.length) === mark);
  if (kind === undefined && header.length > 0) return ofMostKinds;
  return { least: leastOfAll, usual: kind?.[2] ?? ofMostKinds.usual };
}

/** By STREAMINFO, which comes first: 20 bits of samples for a second, 8 of their form, and 36 of all samples. 0 if it is unknown. */
function flacSeconds(header: Buffer): number {
  if (header.length < 26 || header.toString("latin1", 0, 4) !== "fLaC") return 0;
  const perSecond = header.readUIntBE(18, 3) >>> 4;
  const samples = header.readUIntBE(21, 5) % 2 ** 36;
  return perSecond === 0 ? 0 : samples / perSecond;
}
