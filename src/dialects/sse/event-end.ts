const lf = 10;
const cr = 13;

/** Up to this many bytes of a line, a loop is faster than a native search. */
const nearby = 512;

/** The index after the event that starts at this one. */
export function eventEnd(bytes: Uint8Array, start: number): number {
  let lineIsEmpty = false;
  let lineStart = start;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte !== lf && byte !== cr) {
      lineIsEmpty = false;
      if (at - lineStart === nearby) at = endOfLongLine(bytes, at) - 1;
      continue;
    }
    if (byte === cr && bytes[at + 1] === lf) at += 1;
    if (lineIsEmpty) return at + 1;
    lineIsEmpty = true;
    lineStart = at + 1;
  }
  return bytes.length;
}

/**
 * The index of the line end, or the bytes' length. Searched natively, in windows that grow: the end of most lines is near,
 * and a search for the one byte must not run on to the end of everything if only the other is used.
 */
function endOfLongLine(bytes: Uint8Array, from: number): number {
  for (let start = from, size = 1024; start < bytes.length; start += size, size *= 2) {
    const window = bytes.subarray(start, start + size);
    const feed = window.indexOf(lf);
    const back = (feed === -1 ? window : window.subarray(0, feed)).indexOf(cr);
    if (back !== -1) return start + back;
    if (feed !== -1) return start + feed;
  }
  return bytes.length;
}
