const headerBytes = 8;
const longHeaderBytes = 16;
/** Boxes before the tables, and within them. */
const mostBoxes = 1000;

/** Samples of a frame of AAC, and the most of them in a second. */
const samplesPerFrame = 1024;
const mostSamplesPerSecond = 48_000;

/** A part of the file, and where it begins. */
interface Part {
  readonly bytes: Buffer;
  readonly at: number;
}

interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/**
 * By the header of all tracks, and by the number of frames that the track of sound has: those are played, whatever the header says. 0 if
 * the tables are neither near the start nor near the end, or have no length, as in a recording that is written as it comes.
 */
export function mp4Seconds(start: Buffer, end: Buffer, bytes: number): number {
  const tables = findTables([
    { bytes: start, at: 0 },
    { bytes: end, at: bytes - end.length },
  ]);
  if (tables === null) return 0;
  let [declared, framed] = [0, 0];
  for (const { type, content } of boxesIn(tables)) {
    if (type === "mvhd") declared = durationIn(content);
    if (type === "trak")
      framed = Math.max(framed, framesIn(content) * (samplesPerFrame / mostSamplesPerSecond));
  }
  return declared === 0 ? 0 : Math.max(declared, framed);
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

/** Its content is cut off where the bytes are. */
function boxAt(bytes: Buffer, at: number): (Box & { readonly length: number }) | null {
  if (at + headerBytes > bytes.length) return null;
  const size = bytes.readUInt32BE(at);
  const isLong = size === 1 && at + longHeaderBytes <= bytes.length;
  const length = isLong ? Number(bytes.readBigUInt64BE(at + headerBytes)) : size;
  const header = isLong ? longHeaderBytes : headerBytes;
  if (length < header) return null;
  return {
    type: bytes.toString("latin1", at + 4, at + headerBytes),
    content: bytes.subarray(at + header, at + length),
    length,
  };
}

function boxesIn(bytes: Buffer): readonly Box[] {
  const boxes: Box[] = [];
  for (let at = 0; boxes.length < mostBoxes; ) {
    const box = boxAt(bytes, at);
    if (box === null) break;
    boxes.push(box);
    at += box.length;
  }
  return boxes;
}

function boxIn(bytes: Buffer, ...path: readonly string[]): Buffer | null {
  let found: Buffer | null = bytes;
  for (const type of path)
    found = found && (boxesIn(found).find((box) => box.type === type)?.content ?? null);
  return found;
}

function durationIn(header: Buffer): number {
  if (header.length < 32) return 0;
  const isLong = header[0] === 1;
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  const perSecond = header.readUInt32BE(isLong ? 20 : 12);
  return perSecond === 0 ? 0 : duration / perSecond;
}

/** Of a track of sound; 0 of any other. */
function framesIn(track: Buffer): number {
  const media = boxIn(track, "mdia");
  const kind = media && boxIn(media, "hdlr");
  const sizes = media && boxIn(media, "minf", "stbl", "stsz");
  const isSound = kind?.toString("latin1", 8, 12) === "soun";
  return isSound && sizes !== null && sizes.length >= 12 ? sizes.readUInt32BE(8) : 0;
}
