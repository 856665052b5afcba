/** In kbit/s, for MPEG 1, and for 2 and 2.5. */
const bitRates = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const sampleRates = [44_100, 48_000, 32_000] as const;

interface Frame {
  readonly bytes: number;
  readonly seconds: number;
}

/** Bytes that look like a frame, but are not. */
const maxTries = 4096;

export function isMp3(start: Buffer): boolean {
  return start.toString("latin1", 0, 3) === "ID3" || frameAt(start, 0) !== null;
}

/**
 * Duration by the file's frames: all of them if the file is short, else the rate of those at its ends, or the encoder's
 * count. 0 without any frame. The sender writes the count, so one below half of what the frames play is ignored.
 */
export function mp3Seconds(start: Buffer, end: Buffer, bytes: number): number {
  const tag = tagBytes(start);
  const first = walkFrames(start.subarray(tag));
  const last = walkFrames(end.subarray(Math.max(0, tag - (bytes - end.length))));
  const [slowest] = [first, last].filter(({ seconds }) => seconds > 0).sort(byRate);
  if (slowest === undefined) return 0;
  const lengthBy = ({ bytes: sample, seconds }: Frame) => (Math.max(0, bytes - tag) * seconds) / sample;
  const isWhole = end.length >= bytes;
  const counted = countedSeconds(start.subarray(tag));
  if (isWhole || counted === 0) return Math.max(counted, lengthBy(isWhole ? last : slowest));
  return Math.max(counted, lengthBy(last.seconds > 0 ? last : slowest) / 2);
}

function byRate(one: Frame, other: Frame): number {
  return one.bytes / one.seconds - other.bytes / other.seconds;
}

/** ID3v2, perhaps with a picture: players skip its declared number of bytes. */
function tagBytes(start: Buffer): number {
  if (start.length < 10 || start.toString("latin1", 0, 3) !== "ID3") return 0;
  const size = start.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
  return size + 10;
}

/** All frames of a part of a file, which may begin and end within one. */
function walkFrames(bytes: Buffer): Frame {
  let [length, seconds, tries] = [0, 0, 0];
  for (let at = 0; at !== -1 && tries < maxTries; ) {
    const frame = frameAt(bytes, at);
    // A complete frame is followed by another, or ends the part.
    const next = frame === null ? bytes.length : at + frame.bytes;
    if (frame !== null && (next >= bytes.length || frameAt(bytes, next) !== null)) {
      length += frame.bytes;
      seconds += frame.seconds;
      at = next;
      if (at >= bytes.length) break;
    } else {
      tries += 1;
      at = bytes.indexOf(0xff, at + 1);
    }
  }
  return { bytes: length, seconds };
}

/** The layer 3 frame at an offset; null if there is none. */
function frameAt(bytes: Buffer, at: number): Frame | null {
  if (at + 4 > bytes.length || bytes.readUInt16BE(at) >>> 5 !== 0x7ff) return null;
  const [kind, rates] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2)];
  const version = (kind >>> 3) & 3;
  const isFirst = version === 3;
  const kilobits = bitRates[isFirst ? 0 : 1][rates >>> 4] ?? 0;
  const perSecond = (sampleRates[(rates >>> 2) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4);
  if (((kind >>> 1) & 3) !== 1 || version === 1 || kilobits === 0 || perSecond === 0) return null;
  const samples = isFirst ? 1152 : 576;
  // In whole numbers, so that no byte is lost in a division.
  const length = Math.floor((kilobits * 125 * samples) / perSecond) + ((rates >>> 1) & 1);
  return { bytes: length, seconds: samples / perSecond };
}

/** The first frame may be an encoder's header with flags and the number of frames. */
function countedSeconds(start: Buffer): number {
  const first = frameAt(start, 0);
  if (first === null) return 0;
  const frame = start.subarray(0, first.bytes);
  const note = Math.max(frame.indexOf("Xing"), frame.indexOf("Info"));
  const hasCount = note !== -1 && note + 12 <= frame.length && (frame.readUInt32BE(note + 4) & 1) === 1;
  return hasCount ? frame.readUInt32BE(note + 8) * first.seconds : 0;
}
