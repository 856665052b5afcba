import { boxesIn, boxIn } from "./mp4-boxes.ts";

/** Samples a second, by their number in AAC's configuration. */
const rates = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000],
  ...[22_050, 16_000, 12_000, 11_025, 8000, 7350],
] as const;
const samplesPerFrame = 1024;
/** Before the first sample description, and before the boxes in it. */
const [listHeaderBytes, descriptionBytes] = [8, 28];
/** Tags of what surrounds the configuration, and the bytes of each before the next. */
const wrappers = [
  [3, 3],
  [4, 13],
] as const;
const configurationTag = 5;

/** How long a frame of a track plays, by what its decoder goes by; 0 if it is no AAC in its usual form. */
export function aacFrameSeconds(track: Buffer): number {
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
