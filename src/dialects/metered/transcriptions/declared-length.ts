import { asBuffer } from "../../../base/as-buffer.ts";
import type { FormFile } from "../route.ts";
import { flacSeconds } from "./flac.ts";
import { mp3Seconds } from "./mp3.ts";

type Reader = (start: Buffer, end: Buffer, bytes: number) => number;

/** By the mark of a kind of file and its place. */
const readers: readonly (readonly [mark: string, at: number, read: Reader])[] = [
  ["fLaC", 0, flacSeconds],
  ["OggS", 0, oggSeconds],
  ["ftyp", 4, mp4Seconds],
  ["\x1aE\xdf\xa3", 0, webmSeconds],
];

/** How long a file says that it plays; 0 if it does not, or not where it is looked at. The sender writes it, and may write anything. */
export function declaredSeconds({ start, end, bytes }: FormFile): number {
  const [first, last] = [asBuffer(start), asBuffer(end)];
  const known = readers.find(([mark, at]) => first.toString("latin1", at, at + mark.length) === mark);
  const seconds = (known?.[2] ?? mp3Seconds)(first, last, bytes);
  return Number.isFinite(seconds) ? seconds : 0;
}

/** Where the header of each codec in an Ogg file has the samples of a second; Opus has always the same. */
const oggRates: readonly (readonly [mark: string, perSecond: (start: Buffer) => number])[] = [
  ["OpusHead", () => 48_000],
  ["\x01vorbis", (start) => start.readUInt32LE(40)],
  ["Speex", (start) => start.readUInt32LE(64)],
  ["\x7fFLAC", (start) => start.readUIntBE(55, 3) >>> 4],
];

/** Pages in which nothing ends, one after the other. */
const mostTries = 100;

/** Every page says how many samples have been played at its end, unless nothing ends in it. */
function oggSeconds(start: Buffer, end: Buffer): number {
  const codec = oggRates.find(([mark]) => start.toString("latin1", 28, 28 + mark.length) === mark);
  if (codec === undefined || start.length < 68) return 0;
  let at = end.length;
  for (let tries = 0; tries < mostTries && at > 0; tries += 1) {
    at = end.lastIndexOf("OggS", at - 1);
    const samples = at === -1 || at + 14 > end.length ? 0n : end.readBigInt64LE(at + 6);
    if (samples > 0n) return Number(samples) / codec[1](start);
  }
  return 0;
}

/** The header of all tracks is near the start or near the end. */
function mp4Seconds(start: Buffer, end: Buffer): number {
  for (const part of [start, end]) {
    const at = part.indexOf("mvhd");
    if (at === -1 || at + 36 > part.length) continue;
    const isLong = part[at + 4] === 1;
    const duration = isLong ? Number(part.readBigUInt64BE(at + 28)) : part.readUInt32BE(at + 20);
    return duration / part.readUInt32BE(at + (isLong ? 24 : 16));
  }
  return 0;
}

const [duration, scale, cluster] = ["4489", "2ad7b1", "1f43b675"].map((id) => Buffer.from(id, "hex"));
const timestamp = 0xe7;

/** A file that was recorded as it came has no length, but its clusters say when they begin. The last one goes on like those before it. */
function webmSeconds(start: Buffer, end: Buffer, bytes: number): number {
  const ticks = numberOf(start, start.indexOf(duration ?? ""), 2);
  const nanoseconds = numberOf(start, start.indexOf(scale ?? ""), 3) || 1_000_000;
  const last = end.lastIndexOf(cluster ?? "");
  const begun = last === -1 ? 0 : numberOf(end, end.indexOf(timestamp, last + 4), 1);
  const played = (begun * bytes) / (bytes - end.length + last);
  return ((ticks || played) * nanoseconds) / 1e9;
}

/** The value of an element, behind its id and one byte with its length: a float of 4 or 8 bytes for a duration, else whole. */
function numberOf(bytes: Buffer, at: number, idBytes: number): number {
  const from = at + idBytes + 1;
  const length = (bytes[from - 1] ?? 0) & 0x7f;
  if (at === -1 || from + length > bytes.length) return 0;
  if (idBytes === 2)
    return length === 8 ? bytes.readDoubleBE(from) : length === 4 ? bytes.readFloatBE(from) : 0;
  return length >= 1 && length <= 6 ? bytes.readUIntBE(from, length) : 0;
}
