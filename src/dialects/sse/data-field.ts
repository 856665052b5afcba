import { GatewayError } from "../../base/errors.ts";

const space = 32;
const lineEnd = /\r\n|\n|\r/;

/** Real events have one line of data. Reading more lines than this would take milliseconds. */
const maxLines = 20_000;

/** The lines of one event. Throws `upstream_error` if it has more than any real one. */
export function linesOf(event: string): string[] {
  const lines = event.split(event.includes("\r") ? lineEnd : "\n", maxLines + 1);
  if (lines.length <= maxLines) return lines;
  throw new GatewayError("upstream_error", `The provider sent an event of more than ${maxLines} lines.`);
}

/** The `data` of one event, its lines joined; "" if it has none, like a comment. */
export function dataOf(event: string): string {
  let data: string | null = null;
  for (const line of linesOf(event)) data = addDataLine(data, line);
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
