import { type DeclaredSound, soundInVideo } from "./declared-sound.ts";
import { type Box, boxAt, boxesIn, boxIn, longHeaderBytes, maxBoxes } from "./mp4-boxes.ts";
import { fragmentSeconds, trackOf } from "./mp4-fragments.ts";

/** Audio tracks, perhaps one for each of two languages. */
const maxTracks = 2;

/** Encoders have a few frames before the first sound, which are not played. */
const minDeclaredShare = 0.9;

/** A part of the file, and its position. */
interface Part {
  readonly bytes: Buffer;
  readonly at: number;
}

/**
 * Duration by the header of the audio track, or of all tracks, and by the frames in its table and fragments: those are
 * played even if the header differs. 0 if the tables are neither near the start nor near the end, or have no audio
 * frames.
 */
export function mp4Sound(start: Buffer, end: Buffer, bytes: number): DeclaredSound {
  const tables = findTables([
    { bytes: start, at: 0 },
    { bytes: end, at: bytes - end.length },
  ]);
  if (tables === null) return { seconds: 0, bytes };
  const boxes = boxesIn(tables);
  const header = boxes.find(({ type }) => type === "mvhd")?.content;
  const sounds = boxes.filter(({ type, content }) => type === "trak" && isSound(content));
  const framed = sounds.slice(0, maxTracks).map(({ content }) => {
    const track = trackOf(content, tables);
    return Math.max(framesIn(content) * track.secondsPerFrame, fragmentSeconds(track, start, end, bytes));
  });
  const maxSeconds = Math.max(0, ...framed);
  const trackSeconds = Math.max(
    0,
    ...sounds.map(({ content }) => durationIn(boxIn(content, "mdia", "mdhd"))),
  );
  const declared = trackSeconds || durationIn(header);
  const isPlausible = maxSeconds > 0 && declared >= maxSeconds * minDeclaredShare;
  return { seconds: isPlausible ? declared : maxSeconds, bytes: soundBytesIn(boxes, sounds, bytes) };
}

/** Tables list the size of each frame, and players read no more than that. Not all fragments are inspected. */
function soundBytesIn(boxes: readonly Box[], sounds: readonly Box[], bytes: number): number {
  if (boxes.some(({ type }) => type === "mvex")) return boxes.some(isVideo) ? bytes * soundInVideo : bytes;
  const known = sounds.map(({ content }) => frameBytesIn(content));
  return known.some((each) => each === null)
    ? bytes
    : known.reduce((sum: number, each) => sum + (each ?? 0), 0);
}

/** Walks from box to box, as players do to find the tables. */
function findTables(parts: readonly Part[]): Buffer | null {
  for (let [at, tries] = [0, 0]; tries < maxBoxes; tries += 1) {
    const part = parts.find((each) => at >= each.at && at + longHeaderBytes <= each.at + each.bytes.length);
    if (part === undefined) return null;
    const box = boxAt(part.bytes, at - part.at);
    if (box === null) return null;
    if (box.type === "moov") return box.content;
    at += box.length;
  }
  return null;
}

function durationIn(header: Buffer | null = null): number {
  const isLong = header?.[0] === 1;
  if (header === null || header.length < (isLong ? 32 : 20)) return 0;
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const perSecond = header.readUInt32BE(isLong ? 20 : 12);
  return perSecond === 0 ? 0 : duration / perSecond;
}

function isSound(track: Buffer): boolean {
  return handlerOf(track) === "soun";
}

function isVideo({ type, content }: Box): boolean {
  return type === "trak" && handlerOf(content) === "vide";
}

function handlerOf(track: Buffer): string | undefined {
  return boxIn(track, "mdia", "hdlr")?.toString("latin1", 8, 12);
}

/** One size for all, or a list of sizes; null if the list is cut off. */
function frameBytesIn(track: Buffer): number | null {
  const sizes = boxIn(track, "mdia", "minf", "stbl", "stsz");
  if (sizes === null || sizes.length < 12) return null;
  const [ofAll, count] = [sizes.readUInt32BE(4), sizes.readUInt32BE(8)];
  if (ofAll > 0) return ofAll * count;
  if (sizes.length < 12 + 4 * count) return null;
  let sum = 0;
  for (let at = 12; at < 12 + 4 * count; at += 4) sum += sizes.readUInt32BE(at);
  return sum;
}

function framesIn(track: Buffer): number {
  const sizes = boxIn(track, "mdia", "minf", "stbl", "stsz");
  return sizes !== null && sizes.length >= 12 ? sizes.readUInt32BE(8) : 0;
}
