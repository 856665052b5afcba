/** By MPEG 1, and by 2 and 2.5; in kbit/s. */
const bitRates = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const sampleRates = [44_100, 48_000, 32_000] as const;

interface Frame {
  readonly bytes: number;
  readonly bytesPerSecond: number;
  readonly seconds: number;
}

/** More than three frames have. */
const searchedBytes = 4096;

/** Bytes for a second: 128 and 320 kbit/s. */
export const mp3Rates = { usual: 16_000, most: 40_000 };

export function isMp3(start: Buffer): boolean {
  return start.toString("latin1", 0, 3) === "ID3" || frameAt(start, 0) !== null;
}

/**
 * By the frames that an encoder has counted, or by the rate of one of them; 0 without any. The first ones may come behind a picture.
 * A count that no rate explains is ignored. Another one does not make the file shorter than usual, unless its frames do as well.
 */
export function mp3Seconds(start: Buffer, end: Buffer, bytes: number): number {
  const first = findFrame(start);
  const frame = first ?? findFrame(end.subarray(-searchedBytes));
  if (frame === null) return 0;
  const counted = first === null ? 0 : countedFrames(start.subarray(first.at, first.at + first.bytes));
  const seconds = counted * frame.seconds;
  if (seconds < bytes / mp3Rates.most) return bytes / frame.bytesPerSecond;
  return Math.max(seconds, bytes / Math.max(frame.bytesPerSecond, mp3Rates.usual));
}

/** A frame that two others follow where they should; null if there is none. It may be a note, so the rate is that of the next. */
function findFrame(bytes: Buffer): (Frame & { readonly at: number }) | null {
  for (let at = bytes.indexOf(0xff); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const frame = frameAt(bytes, at);
    const next = frame && frameAt(bytes, at + frame.bytes);
    if (frame && next && frameAt(bytes, at + frame.bytes + next.bytes)) {
      return { ...frame, bytesPerSecond: next.bytesPerSecond, at };
    }
  }
  return null;
}

/** Of layer 3. */
function frameAt(bytes: Buffer, at: number): Frame | null {
  if (at + 4 > bytes.length || bytes.readUInt16BE(at) >>> 5 !== 0x7ff) return null;
  const [kind, rates] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2)];
  const version = (kind >>> 3) & 3;
  const isFirst = version === 3;
  const kilobits = bitRates[isFirst ? 0 : 1][rates >>> 4] ?? 0;
  const perSecond = (sampleRates[(rates >>> 2) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4);
  if (((kind >>> 1) & 3) !== 1 || version === 1 || kilobits === 0 || perSecond === 0) return null;
  const [samples, bytesPerSecond] = [isFirst ? 1152 : 576, kilobits * 125];
  const seconds = samples / perSecond;
  return { bytes: Math.floor(bytesPerSecond * seconds) + ((rates >>> 1) & 1), bytesPerSecond, seconds };
}

/** The first frame may be a note of the encoder, with flags and a number. */
function countedFrames(frame: Buffer): number {
  const note = Math.max(frame.indexOf("Xing"), frame.indexOf("Info"));
  const hasCount = note !== -1 && note + 12 <= frame.length && (frame.readUInt32BE(note + 4) & 1) === 1;
  return hasCount ? frame.readUInt32BE(note + 8) : 0;
}
