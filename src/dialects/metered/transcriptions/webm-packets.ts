import { opusSeconds } from "./opus-packet.ts";
import { clusterMark, type Element, elementsIn, ids, wholeNumberIn } from "./webm-elements.ts";

/** A packet of another codec than Opus. */
const secondsPerPacket = 0.02;
/** Elements that are looked at, within milliseconds. */
const maxSteps = 30_000;
/** A block's timestamp and flags, which follow its track number. */
const blockHeaderBytes = 3;
const isLaced = 6;

/** The packets in a part of a file, of sound and of all tracks. */
export interface Packets {
  readonly soundBytes: number;
  readonly soundSeconds: number;
  readonly allBytes: number;
  /** From the first cluster on, to the end of the part. */
  readonly spanBytes: number;
}

/** Null if the part has too many to be looked at. Clusters are found wherever they are, so that none can hide another. */
export function packetsIn(part: Buffer, soundTracks: ReadonlySet<number>): Packets | null {
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
export function tracksIn(start: Buffer): {
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
