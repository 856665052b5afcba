import { type Box, boxAt, boxesIn, boxIn } from "./mp4-boxes.ts";

/** The duration of an Opus frame, also assumed for unknown codecs. */
const usualFrameSeconds = 0.02;

/** A track of sound. */
export interface Track {
  readonly id: number;
  readonly ticksPerSecond: number;
  /** Ticks of a frame if the fragment does not declare them. */
  readonly ticksPerFrame: number;
  readonly secondsPerFrame: number;
}

/** Maximum boxes and frames to inspect, which takes milliseconds. A recording of speech has fewer of them in its last MiB. */
const maxSteps = 30_000;

/**
 * Duration of a file that was written while recording. Its audio is in fragments, each of which declares its start and
 * the length of its frames; the last fragment counts. The sender writes these values, so the frames are counted too: a
 * duration below half of what they play is ignored. 0 without fragments.
 */
export function fragmentSeconds(track: Track, start: Buffer, end: Buffer, bytes: number): number {
  const last = new Fragments(track).walk(end);
  if (last.frames > 0) {
    const share = end.length >= bytes ? 1 : bytes / (end.length - last.from) / 2;
    return Math.max(last.until, last.frames * track.secondsPerFrame * share);
  }
  // A video's fragments can be larger than the part that is read. All are assumed to be like the first.
  const first = new Fragments(track).walk(start);
  const sound = boxAt(start, first.to);
  return sound === null ? 0 : (first.until * bytes) / (first.to - first.from + sound.length);
}

/** Adds up the fragments in a part of a file. Any that could be one counts, so that none can hide another. */
class Fragments {
  readonly #track: Track;
  #steps = 0;
  frames = 0;
  /** Seconds at the end of the last one. */
  until = 0;
  /** Start of the first fragment, and the end of its list of frames. */
  from = 0;
  to = 0;

  constructor(track: Track) {
    this.#track = track;
  }

  walk(part: Buffer): this {
    for (
      let at = part.indexOf("moof", 4);
      at !== -1 && this.#steps < maxSteps;
      at = part.indexOf("moof", at + 4)
    ) {
      this.#steps += 1;
      const box = boxAt(part, at - 4);
      const before = this.frames;
      for (const { type, content } of this.#boxesIn(box?.content)) if (type === "traf") this.#add(content);
      if (before > 0 || this.frames === 0 || box === null) continue;
      this.from = at - 4;
      this.to = this.from + box.length;
    }
    // Then it is charged by its size in bytes.
    if (this.#steps >= maxSteps) [this.frames, this.until] = [0, 0];
    return this;
  }

  *#boxesIn(bytes: Buffer = Buffer.of()): Generator<Box> {
    for (let at = 0; this.#steps < maxSteps; this.#steps += 1) {
      const box = boxAt(bytes, at);
      if (box === null) return;
      yield box;
      at += box.length;
    }
  }

  #add(fragment: Buffer): void {
    let [ticks, usual] = [0, this.#track.ticksPerFrame];
    let isSound = false;
    for (const { type, content } of this.#boxesIn(fragment)) {
      if (content.length < 8) continue;
      if (type === "tfhd") {
        isSound = content.readUInt32BE(4) === this.#track.id;
        usual = ticksIn(content) ?? usual;
      }
      if (type === "tfdt") ticks += numberIn(content);
      if (type === "trun" && isSound) ticks += this.#ticksOf(content, usual);
    }
    if (isSound) this.until = ticks / this.#track.ticksPerSecond;
  }

  /** The ticks of all frames in a run. */
  #ticksOf(run: Buffer, usual: number): number {
    const flags = run.readUIntBE(1, 3);
    const count = run.readUInt32BE(4);
    this.frames += count;
    if ((flags & 0x100) === 0) return count * usual;
    const length = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag).length;
    let [at, ticks] = [8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0), 0];
    for (; at + 4 <= run.length && this.#steps < maxSteps; at += length, this.#steps += 1)
      ticks += run.readUInt32BE(at);
    return ticks;
  }
}

/** The ticks per frame that a fragment's header states. */
function ticksIn(header: Buffer): number | null {
  const flags = header.readUIntBE(1, 3);
  const at = 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
  return flags & 8 && at + 4 <= header.length ? header.readUInt32BE(at) : null;
}

function numberIn(time: Buffer): number {
  return time[0] === 1 && time.length >= 12 ? Number(time.readBigUInt64BE(4)) : time.readUInt32BE(4);
}

export function trackOf(track: Buffer, tables: Buffer): Track {
  const id = thirdIn(boxIn(track, "tkhd"));
  const defaults = boxesIn(boxIn(tables, "mvex") ?? Buffer.of()).map(({ content }) => content);
  const its = defaults.find((each) => each.length >= 16 && each.readUInt32BE(4) === id);
  const ticksPerSecond = thirdIn(boxIn(track, "mdia", "mdhd")) || 1;
  const secondsPerFrame = aacFrameSeconds(track) || usualFrameSeconds;
  return { id, ticksPerSecond, ticksPerFrame: its?.readUInt32BE(12) ?? 0, secondsPerFrame };
}

/** The field after two timestamps, which have 64 bits in version 1 and 32 bits otherwise. */
function thirdIn(header: Buffer | null): number {
  const at = header?.[0] === 1 ? 20 : 12;
  return header !== null && at + 4 <= header.length ? header.readUInt32BE(at) : 0;
}

/** Samples per second, by the index in AAC's configuration. */
const rates = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000],
  ...[22_050, 16_000, 12_000, 11_025, 8000, 7350],
] as const;
const samplesPerFrame = 1024;
/** Bytes before the first sample description, and before the boxes in it. */
const [listHeaderBytes, descriptionBytes] = [8, 28];
/** Tags of what surrounds the configuration, and the bytes of each before the next. */
const wrappers = [
  [3, 3],
  [4, 13],
] as const;
const configurationTag = 5;

/** The duration of a track's frame, by its decoder configuration; 0 if it is not ordinary AAC. */
function aacFrameSeconds(track: Buffer): number {
  const [description] = boxesIn(
    boxIn(track, "mdia", "minf", "stbl", "stsd")?.subarray(listHeaderBytes) ?? Buffer.of(),
  );
  if (description?.type !== "mp4a") return 0;
  const boxes = boxesIn(description.content.subarray(descriptionBytes));
  const config = configIn(boxes.find(({ type }) => type === "esds")?.content.subarray(4) ?? Buffer.of());
  if (config === null || config.length < 2) return 0;
  const rate = rates[(config.readUInt16BE() >>> 7) & 15];
  return rate === undefined ? 0 : samplesPerFrame / rate;
}

function configIn(descriptors: Buffer): Buffer | null {
  let rest = descriptors;
  for (const [tag, bytes] of wrappers) {
    if (rest[0] !== tag) return null;
    rest = rest.subarray(1 + lengthBytes(rest) + bytes);
  }
  return rest[0] === configurationTag ? rest.subarray(1 + lengthBytes(rest)) : null;
}

/** Bytes of the length that follows a tag, seven bits in each byte. */
function lengthBytes(descriptor: Buffer): number {
  let count = 1;
  while (count < 4 && ((descriptor[count] ?? 0) & 0x80) !== 0) count += 1;
  return count;
}
