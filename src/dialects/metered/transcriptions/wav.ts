/** How long a WAV file plays, by its header; null if it is none. `bytes` is the length of the whole file. */
export function wavSeconds(start: Uint8Array, bytes: number): number | null {
  const header = Buffer.from(start);
  if (header.toString("latin1", 0, 4) !== "RIFF" || header.toString("latin1", 8, 12) !== "WAVE") return null;
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= header.length; ) {
    const name = header.toString("latin1", at, at + 4);
    const size = header.readUInt32LE(at + 4);
    if (name === "fmt " && at + 20 <= header.length) bytesPerSecond = header.readUInt32LE(at + 16);
    // A recording whose length was not known when it began has all that follows.
    if (name === "data") return bytesPerSecond === 0 ? null : Math.min(size, bytes - at - 8) / bytesPerSecond;
    at += 8 + size + (size % 2);
  }
  return null;
}
