import { type DeclaredSound, soundInVideo } from "./declared-sound.ts";
import { opusSeconds } from "./opus-packet.ts";
import { clusterMark, type Element, elementsIn, ids, wholeNumberIn } from "./webm-elements.ts";

const [duration, scale] = ["4489", "2ad7b1"].map((id) => Buffer.from(id, "hex"));

/**
 * A file that was written while recording has no duration, but its clusters declare their start. The last cluster is
 * assumed to be as long as the others. The sender writes both, so the audio packets near the end are counted too: a
 * duration below half of what they play is ignored.
 */
export function webmSound(start: Buffer, end: Buffer, bytes: number): DeclaredSound {
  const ticks = numberOf(start, start.indexOf(duration ?? ""), 2);
  const nanoseconds = numberOf(start, start.indexOf(scale ?? ""), 3) || 1_000_000;
  const last = end.lastIndexOf(clusterMark);
  const begun = last === -1 ? 0 : numberOf(end, end.indexOf(ids.timestamp, last + 4), 1);
  const declared = ((ticks || (begun * bytes) / (bytes - end.length + last)) * nanoseconds) / 1e9;
  return declared === 0 ? { seconds: 0, bytes } : checked(declared, start, end, bytes);
}

function checked(declared: number, start: Buffer, end: Buffer, bytes: number): DeclaredSound {
  const { sound, hasVideo } = tracksIn(start);
  // The last cluster of a video may begin before what is looked at.
  const packets = packetsIn(end.includes(clusterMark) ? end : start, sound);
  // Then it is charged by its size in bytes.
  if (packets === null) return { seconds: 0, bytes };
  const { soundBytes, soundSeconds, allBytes, spanBytes } = packets;
  const played = end.length >= bytes ? soundSeconds : (soundSeconds * bytes) / spanBytes / 2;
  const share = hasVideo && allBytes > 0 ? Math.max(soundInVideo, soundBytes / allBytes) : 1;
  return { seconds: Math.max(declared, played), bytes: bytes * share };
}

/**
 * The value of an element, after its id and one byte with its length: a float of 4 or 8 bytes for a duration, else an
 * integer.
 */
function numberOf(bytes: Buffer, at: number, idBytes: number): number {
  const from = at + idBytes + 1;
  const length = (bytes[from - 1] ?? 0) & 0x7f;
  if (at === -1 || from + length > bytes.length) return 0;
  if (idBytes === 2)
    return length === 8 ? bytes.readDoubleBE(from) : length === 4 ? bytes.readFloatBE(from) : 0;
  return length >= 1 && length <= 6 ? bytes.readUIntBE(from, length) : 0;
}

/** Assumed for codecs other than Opus. */
const secondsPerPacket = 0.02;
/** Maximum number of elements to parse; they take a few milliseconds. */
const maxSteps = 30_000;
/** A block's timestamp and flags, which follow its track number. */
const blockHeaderBytes = 3;
const isLaced = 6;

/** The packets in a part of a file, of sound and of all tracks. */
interface Packets {
  readonly soundBytes: number;
  readonly soundSeconds: number;
  readonly allBytes: number;
  /** From the first cluster on, to the end of the part. */
  readonly spanBytes: number;
}

/**
 * Counts packets; null if the part has too many to inspect. Clusters are found at any position, so that none can hide
 * another.
 */
function packetsIn(part: Buffer, soundTracks: ReadonlySet<number>): Packets | null {
  let [soundBytes, soundSeconds, allBytes, steps] = [0, 0, 0, 0];
  const first = part.indexOf(clusterMark);
  for (let at = first; at !== -1; at = part.indexOf(clusterMark, at + 4)) {
    let isFirst = true;
    for (const element of elementsIn(part, at, [ids.cluster, ids.blockGroup])) {
      steps += 1;
      if (steps > maxSteps) return null;
      if (element.id === ids.cluster && !isFirst) break;
      isFirst = false;
      if (element.id !== ids.simpleBlock && element.id !== ids.block) continue;
      const { track, seconds } = packetsOf(part, element);
      allBytes += element.to - element.from;
      if (!soundTracks.has(track)) continue;
      soundBytes += element.to - element.from;
      soundSeconds += seconds;
    }
  }
  // A long block may be cut off.
  return { soundBytes, soundSeconds, allBytes, spanBytes: Math.max(part.length - first, allBytes) };
}

/** A laced block has several packets, each taken to be like the first. */
function packetsOf(part: Buffer, { from }: Element): { readonly track: number; readonly seconds: number } {
  const track = (part[from] ?? 0) & 0x7f;
  const at = from + 1 + blockHeaderBytes;
  const laced = ((part[at - 1] ?? 0) & isLaced) === 0 ? 1 : (part[at] ?? 0) + 1;
  return { track, seconds: laced * (opusSeconds(part, laced === 1 ? at : at + 1) || secondsPerPacket) };
}

/** From the list of tracks near the start: the numbers of audio tracks, and whether another track has pictures. */
function tracksIn(start: Buffer): {
  readonly sound: ReadonlySet<number>;
  readonly hasVideo: boolean;
} {
  const sound = new Set<number>();
  let [number, hasVideo, steps] = [0, false, 0];
  for (const element of elementsIn(start, 0, [ids.segment, ids.tracks, ids.track])) {
    steps += 1;
    if (steps > maxSteps || element.id === ids.cluster) break;
    if (element.id === ids.trackNumber) number = wholeNumberIn(start, element);
    if (element.id !== ids.trackType) continue;
    const type = wholeNumberIn(start, element);
    if (type === 2) sound.add(number);
    hasVideo ||= type === 1;
  }
  return { sound, hasVideo };
}
