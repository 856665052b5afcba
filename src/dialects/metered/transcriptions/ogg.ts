import { opusSeconds } from "./opus-packet.ts";

/** Position of the sample rate in each codec's header; Opus has a constant rate. */
const rates: readonly (readonly [mark: string, perSecond: (start: Buffer) => number])[] = [
  ["OpusHead", () => 48_000],
  ["\x01vorbis", (start) => start.readUInt32LE(40)],
  ["Speex", (start) => start.readUInt32LE(64)],
  ["\x7fFLAC", (start) => start.readUIntBE(55, 3) >>> 4],
];

/** Even if each packet is one byte, this many bytes are read in a few milliseconds. */
const maxWalkedBytes = 256 * 1024;
const headerBytes = 27;
const isContinued = 1;
const fullSegment = 255;

/**
 * The duration, from the last page's granule position. The sender writes that position, so Opus packets are counted too: a duration
 * below half of what they play is implausible, so ignored.
 */
export function oggSeconds(start: Buffer, end: Buffer, bytes: number): number {
  const codec = rates.find(([mark]) => start.toString("latin1", 28, 28 + mark.length) === mark);
  if (codec === undefined || start.length < 68) return 0;
  const walked = walkPages(end.subarray(-maxWalkedBytes));
  const declared = walked.samples / codec[1](start);
  if (codec[0] !== "OpusHead" || walked.bytes === 0) return declared;
  const played = (bytes * walked.seconds) / walked.bytes;
  return Math.max(declared, bytes <= maxWalkedBytes ? played : played / 2);
}

interface Pages {
  bytes: number;
  /** Granule position of the last page that completes a packet. */
  samples: number;
  /** The duration of the packets, if they are Opus. */
  seconds: number;
}

/** All pages of a part of a file, which may begin and end within one. */
function walkPages(part: Buffer): Pages {
  const pages = { bytes: 0, samples: 0, seconds: 0 };
  for (let at = part.indexOf("OggS"); at !== -1; ) {
    const length = at + headerBytes <= part.length ? addPage(part, at, pages) : 0;
    at = part.indexOf("OggS", at + Math.max(length, 4));
  }
  return pages;
}

/** Returns the length of the page. */
function addPage(part: Buffer, at: number, pages: Pages): number {
  const content = at + headerBytes + part.readUInt8(at + 26);
  const samples = part.readBigInt64LE(at + 6);
  if (samples > 0n) pages.samples = Number(samples);
  let isStart = (part.readUInt8(at + 5) & isContinued) === 0;
  let packet = content;
  for (const segment of part.subarray(at + headerBytes, content)) {
    if (isStart) pages.seconds += opusSeconds(part, packet);
    isStart = segment < fullSegment;
    packet += segment;
  }
  pages.bytes += packet - at;
  return packet - at;
}
