import { boxAt, boxesIn, boxIn, longHeaderBytes, mostBoxes } from "./mp4-boxes.ts";
import { fragmentSeconds, secondsPerFrame, trackOf } from "./mp4-fragments.ts";

/** Of sound, in languages perhaps. */
const mostTracks = 2;

/** A part of the file, and where it begins. */
interface Part {
  readonly bytes: Buffer;
  readonly at: number;
}

/**
 * By the header of all tracks, and by the frames that the track of sound has in its table and in fragments: those are played, whatever the
 * header says. 0 if the tables are neither near the start nor near the end, or have no frames of sound.
 */
export function mp4Seconds(start: Buffer, end: Buffer, bytes: number): number {
  const tables = findTables([
    { bytes: start, at: 0 },
    { bytes: end, at: bytes - end.length },
  ]);
  if (tables === null) return 0;
  const boxes = boxesIn(tables);
  const header = boxes.find(({ type }) => type === "mvhd")?.content;
  const sounds = boxes.filter(({ type, content }) => type === "trak" && isSound(content));
  const framed = sounds.slice(0, mostTracks).map(({ content }) => {
    const fragmented = fragmentSeconds(trackOf(content, tables), start, end, bytes);
    return Math.max(framesIn(content) * secondsPerFrame, fragmented);
  });
  const longest = Math.max(0, ...framed);
  return longest === 0 ? 0 : Math.max(header ? durationIn(header) : 0, longest);
}

/** From box to box, as players look for them. */
function findTables(parts: readonly Part[]): Buffer | null {
  for (let [at, tries] = [0, 0]; tries < mostBoxes; tries += 1) {
    const part = parts.find((each) => at >= each.at && at + longHeaderBytes <= each.at + each.bytes.length);
    if (part === undefined) return null;
    const box = boxAt(part.bytes, at - part.at);
    if (box === null) return null;
    if (box.type === "moov") return box.content;
    at += box.length;
  }
  return null;
}

function durationIn(header: Buffer): number {
  if (header.length < 32) return 0;
  const isLong = header[0] === 1;
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const perSecond = header.readUInt32BE(isLong ? 20 : 12);
  return perSecond === 0 ? 0 : duration / perSecond;
}

function isSound(track: Buffer): boolean {
  return boxIn(track, "mdia", "hdlr")?.toString("latin1", 8, 12) === "soun";
}

function framesIn(track: Buffer): number {
  const sizes = boxIn(track, "mdia", "minf", "stbl", "stsz");
  return sizes !== null && sizes.length >= 12 ? sizes.readUInt32BE(8) : 0;
}
