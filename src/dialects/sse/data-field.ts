const space = 32;
const lineEnd = /\r\n|\n|\r/;

/** The `data` of one event, its lines joined; "" if it has none, as a comment. */
export function dataOf(event: string): string {
  const isOneLine = event.startsWith("data: ") && event.indexOf("\n") === event.length - 2;
  if (isOneLine && event.endsWith("\n\n") && !event.includes("\r")) return event.slice(6, -2);
  let data: string | null = null;
  for (const line of event.split(lineEnd)) data = addDataLine(data, line);
  return data ?? "";
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
