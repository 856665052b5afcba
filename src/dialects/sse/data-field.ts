const space = 32;
const lf = 10;
const cr = 13;
const lineEnd = /\r\n|\n|\r/;

/** Longer events are read as bytes: cutting 6 MB of lines `data: x` into strings takes 400 ms, a loop over their bytes 20. */
export const maxCutChars = 16 * 1024;

/** The `data` of one event, its lines joined; "" if it has none, as a comment. */
export function dataOf(event: string): string {
  const isOneLine = event.startsWith("data: ") && event.indexOf("\n") === event.length - 2;
  if (isOneLine && event.endsWith("\n\n") && !event.includes("\r")) return event.slice(6, -2);
  if (event.length > maxCutChars) return dataOfBytes(Buffer.from(event)) ?? "";
  let data: string | null = null;
  for (const line of event.split(lineEnd)) data = addDataLine(data, line);
  return data ?? "";
}

/** The same of a large event; null if it has no data line. The lines are joined in place. */
export function dataOfBytes(event: Buffer): string | null {
  let isEmpty = true;
  let written = 0;
  for (let start = 0; start < event.length; ) {
    let end = start;
    while (end < event.length && event[end] !== lf && event[end] !== cr) end += 1;
    const from = dataStart(event, start, end);
    if (from !== -1) {
      if (!isEmpty) event[written++] = lf;
      isEmpty = false;
      // Nothing is overtaken: what is written is shorter than what was read.
      for (let at = from; at < end; at += 1) event[written++] = event[at] ?? 0;
    }
    start = event[end] === cr && event[end + 1] === lf ? end + 2 : end + 1;
  }
  return isEmpty ? null : event.toString("utf8", 0, written);
}

/** Where the value of a data line begins, which is its end if it has none; -1 for another line. */
function dataStart(bytes: Buffer, start: number, end: number): number {
  const isData =
    bytes[start] === 100 && bytes[start + 1] === 97 && bytes[start + 2] === 116 && bytes[start + 3] === 97;
  if (!isData || end - start < 4) return -1;
  if (end - start === 4) return end;
  if (bytes[start + 4] !== 58) return -1;
  return end - start > 5 && bytes[start + 5] === space ? start + 6 : start + 5;
}

/** The same bytes if no line ends in CR; else a copy whose lines all end in LF. */
export function withLineFeeds(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(cr)) return bytes;
  const copy = Buffer.from(bytes);
  let written = 0;
  for (let at = 0; at < copy.length; at += 1) {
    const byte = copy[at] ?? 0;
    if (byte === cr && copy[at + 1] === lf) continue;
    copy[written++] = byte === cr ? lf : byte;
  }
  return copy.subarray(0, written);
}

/** The event's `data` after one more of its lines. Null as long as there was no data line. */
export function addDataLine(data: string | null, line: string): string | null {
  if (line.startsWith("data:")) {
    const value = fieldValue(line, 5);
    return data === null ? value : `${data}\n${value}`;
  }
  if (line !== "data") return data;
  return data === null ? "" : `${data}\n`;
}

/** The rest of a line after its colon, without the one space that may follow it. */
export function fieldValue(line: string, from: number): string {
  return line.slice(line.charCodeAt(from) === space ? from + 1 : from);
}

/** Whether the data ends a stream of OpenAI's form. Its clients accept the mark with anything after it. */
export function isDoneMark(data: string): boolean {
  return !data.startsWith("{") && data.trimStart().startsWith("[DONE]");
}
