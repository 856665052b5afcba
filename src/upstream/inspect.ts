import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { joined } from "./answer-queue.ts";

/**
 * Whether what a provider sent with status 200 is an error all the same. Looked at before anything reaches
 * the client, because then there is still a status to say it with, and another deployment to ask.
 */

/** Only what looks like this is worth parsing; a Responses object has `"error":null` in good health. */
const suspicious = /"error"\s*:\s*["{]|"type"\s*:\s*"(?:error|response\.failed)"/;

const mostBytes = 64 * 1024;
const lf = 10;
const cr = 13;
const openBrace = 123;
const closeBrace = 125;
const blankLine = Buffer.from("\n\n");
const dataField = Buffer.from("data:");
const quotedError = Buffer.from('"error"');
const failedType = Buffer.from('response.failed"');

/** "more": no frame with data is complete yet. "fine": the first one is no error. "empty": there is none. */
export type StreamStart = "more" | "fine" | "empty" | JsonObject;

/** Looks at the beginning of a stream, however it is cut. `ended`: nothing more will come. */
export function inspectStart(chunks: readonly Uint8Array[], ended: boolean): StreamStart {
  const bytes = joined(chunks);
  if (beginsWell(bytes)) return "fine";
  const text = bytes.toString("utf8", 0, Math.min(bytes.length, mostBytes)).replace(/\r\n?/g, "\n");
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n\n", from);
    if (end === -1 && !ended) break;
    const data = dataOf(text.slice(from, end === -1 ? text.length : end));
    if (data !== null && data !== "") return errorIn(data) ?? "fine";
    if (end === -1) break;
    from = end + 2;
  }
  if (ended) return "empty";
  return bytes.length >= mostBytes ? "fine" : "more";
}

/** Nearly all do: a first frame with data and without the words in which errors come. Nothing is decoded for that. */
function beginsWell(bytes: Buffer): boolean {
  const end = bytes.indexOf(blankLine);
  if (end === -1) return false;
  const frame = bytes.subarray(0, end);
  const data = frame.indexOf(dataField);
  if (data === -1 || (data > 0 && frame[data - 1] !== lf) || frame.indexOf(openBrace, data) === -1)
    return false;
  return frame.indexOf(quotedError) === -1 && frame.indexOf(failedType) === -1 && frame.indexOf(cr) === -1;
}

function dataOf(frame: string): string | null {
  let data: string | null = null;
  for (const line of frame.split("\n")) {
    if (!line.startsWith("data:")) continue;
    const value = line.slice(line[5] === " " ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
}

/** The error in a JSON text, if that is what it is. */
function errorIn(text: string): JsonObject | null {
  if (!suspicious.test(text)) return null;
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? errorOf(value) : null;
  } catch {
    return null;
  }
}

function errorOf(body: JsonObject): JsonObject | null {
  if (body["type"] === "error") return body;
  if (body["type"] === "response.failed" && isObject(body["response"])) return body["response"];
  const error = body["error"];
  return isObject(error) || (typeof error === "string" && error !== "") ? body : null;
}

/**
 * The same for a whole body, without parsing a healthy one: it is parsed once, by whoever reads its usage.
 * "broken": it does not even begin and end like a JSON object.
 */
export function inspectWhole(body: Uint8Array): "fine" | "broken" | JsonObject {
  let start = 0;
  let end = body.length - 1;
  while (start < end && isSpace(body[start])) start += 1;
  while (end > start && isSpace(body[end])) end -= 1;
  if (body[start] !== openBrace || body[end] !== closeBrace || start === end) return "broken";
  const bytes = joined([body]);
  if (bytes.indexOf(quotedError) === -1) return "fine";
  return errorIn(bytes.toString("utf8")) ?? "fine";
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
