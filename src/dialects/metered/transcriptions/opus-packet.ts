/** Milliseconds of a frame, by the packet's configuration. https://www.rfc-editor.org/rfc/rfc6716#section-3.1 */
const silk = [10, 20, 40, 60] as const;
const hybrid = [10, 20] as const;
const celt = [2.5, 5, 10, 20] as const;

const firstOfHeader = "O".charCodeAt(0);

/** Duration of an Opus packet, by its first bytes; 0 for a file's headers, and beyond the end. */
export function opusSeconds(bytes: Buffer, at: number): number {
  const [first, second = 0] = [bytes[at], bytes[at + 1]];
  const isHeader = first === firstOfHeader && bytes.toString("latin1", at, at + 4) === "Opus";
  if (first === undefined || isHeader) return 0;
  const kind = first >>> 3;
  const ofFrame = (kind < 12 ? silk[kind & 3] : kind < 16 ? hybrid[kind & 1] : celt[kind & 3]) ?? 0;
  const frames = [1, 2, 2, second & 63][first & 3] ?? 0;
  return (ofFrame * frames) / 1000;
}
