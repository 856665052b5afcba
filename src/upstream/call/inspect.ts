import type { GatewayError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { errorIn as bareError } from "../../dialects/errors/bare-error.ts";
import { isDisguised } from "../../dialects/errors/refusal.ts";
import { isZero, parseObject } from "../../dialects/json/json-fields.ts";
import type { FailedStart } from "../../dialects/provider-dialect.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import type { Head } from "../../wire/transfer.ts";
import { type AnswerQueue, joined } from "./answer-queue.ts";

/**
 * Whether an answer with status 200 is an error nevertheless. Inspected before anything reaches the client, because
 * until then the error can get a status of its own, and another deployment can be tried.
 */

const json = /^application\/([\w.-]+\+)?json\b/;

export const unknownType = "its content type is neither JSON nor an event stream";

/** Whether a 200 is a stream or JSON by its head, something else, or what is wrong with it. */
export function inspectHead(
  head: Pick<Head, "get">,
): "stream" | "json" | "other" | { readonly problem: string } {
  const encoding = head.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    return { problem: "it is compressed, which was not asked for" };
  }
  const type = head.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return "stream";
  if (type === "application/json" || json.test(type)) return "json";
  return "other";
}

/** How many bytes decide what a body is. */
const mostSniffed = 64;

const streamFields = ["data:", "event:", "id:", "retry:", ":"];

/** Some servers send streams with another content type. "more": not enough bytes to decide. */
export function sniffBody(chunks: readonly Uint8Array[]): "more" | "stream" | "other" {
  const sniffed = startOf(chunks, mostSniffed).toString("latin1");
  const start = sniffed.trimStart();
  if (start === "" && sniffed.length === mostSniffed) return "other";
  if (streamFields.some((field) => start.startsWith(field))) return "stream";
  return streamFields.some((field) => field.startsWith(start)) ? "more" : "other";
}

/** Only text that matches is parsed. A Responses object without an error has `"error":null`. */
const suspicious =
  /"error"\s*:\s*["{]|"(?:type|object)"\s*:\s*"(?:error|response\.failed)"|"base_resp"\s*:|"msg"\s*:/;

const mostInspected = 64 * 1024;
const lf = 10;
const cr = 13;
const openBrace = 123;
const closeBrace = 125;
const blankLine = Buffer.from("\n\n");
const dataField = Buffer.from("data:");
const quotedError = Buffer.from('"error"');
const failedType = Buffer.from('response.failed"');
/** Marks of errors that do not call themselves one. */
const disguises = [Buffer.from('"base_resp"'), Buffer.from('"msg"')];

/**
 * "more": no frame with data is complete yet. "fine": the first one is no error. "empty": there is none. Else: the error, or the
 * failure of the answer that begins and ends with it.
 */
export type StreamStart = "more" | "fine" | "empty" | JsonObject | GatewayError;

/** Inspects the beginning of a stream, wherever its chunks are cut. `isEnd`: nothing more will come. */
export function inspectStart(
  chunks: readonly Uint8Array[],
  isEnd: boolean,
  failedStart?: FailedStart,
): StreamStart {
  const bytes = joined(chunks);
  if (beginsWell(bytes, failedStart?.marks)) return "fine";
  const text = bytes.toString("utf8", 0, Math.min(bytes.length, mostInspected)).replace(/\r\n?/g, "\n");
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n\n", from);
    if (end === -1 && !isEnd) break;
    const data = dataOf(text.slice(from, end === -1 ? text.length : end));
    if (data !== "") return errorIn(data) ?? failureIn(data, failedStart) ?? "fine";
    if (end === -1) break;
    from = end + 2;
  }
  if (isEnd) return bareError(text) ?? "empty";
  return bytes.length >= mostInspected ? "fine" : "more";
}

/** True for nearly all streams: a first frame with data, and without the marks of an error. Decodes nothing. */
function beginsWell(bytes: Buffer, failureMarks: readonly string[] = []): boolean {
  const end = bytes.indexOf(blankLine);
  if (end === -1) return false;
  const frame = bytes.subarray(0, end);
  const data = frame.indexOf(dataField);
  if (data === -1 || (data > 0 && frame[data - 1] !== lf) || frame.indexOf(openBrace, data) === -1)
    return false;
  for (const mark of failureMarks) if (frame.indexOf(mark) !== -1) return false;
  return !hasErrorMark(frame) && frame.indexOf(failedType) === -1 && frame.indexOf(cr) === -1;
}

function hasErrorMark(bytes: Buffer): boolean {
  if (bytes.indexOf(quotedError) !== -1) return true;
  for (const mark of disguises) if (bytes.indexOf(mark) !== -1) return true;
  return false;
}

/** The error, if the JSON text is one. */
function errorIn(text: string): JsonObject | null {
  const value = suspicious.test(text) ? parseObject(text) : null;
  return value === null ? null : errorOf(value);
}

function failureIn(data: string, failedStart: FailedStart | undefined): GatewayError | null {
  if (failedStart?.marks.some((mark) => data.includes(mark)) !== true) return null;
  const frame = parseObject(data);
  return frame === null ? null : failedStart.failureIn(frame);
}

function errorOf(body: JsonObject): JsonObject | null {
  if (body["type"] === "error" || body["object"] === "error" || isDisguised(body)) return body;
  if (body["type"] === "response.failed" && isObject(body["response"])) return body["response"];
  const { error } = body;
  return (isObject(error) || typeof error === "string") && !isZero(error) ? body : null;
}

/**
 * Inspects a whole body, without parsing one that is fine: it will be parsed once, to read its usage. No error is as
 * long as `mostInspected`, and parsing what is longer could take long. "broken": it does not begin and end like a JSON object.
 */
export function inspectWhole(body: Uint8Array): "fine" | "broken" | JsonObject {
  let start = 0;
  let end = body.length - 1;
  while (start < end && isSpace(body[start])) start += 1;
  while (end > start && isSpace(body[end])) end -= 1;
  if (body[start] !== openBrace || body[end] !== closeBrace || start === end) return "broken";
  const bytes = joined([body]);
  if (bytes.length > mostInspected || !hasErrorMark(bytes)) return "fine";
  return errorIn(bytes.toString("utf8")) ?? "fine";
}

/** No answer has more white space than this before or after it. */
const mostSpace = 64 * 1024;

/** The same for what has been received; a body of more than `mostInspected` is not joined for that. */
export function inspectBody(received: AnswerQueue): "fine" | "broken" | JsonObject {
  return received.bytes > mostInspected ? inspectLarge(received.pieces) : inspectWhole(received.joined());
}

function inspectLarge(pieces: readonly Uint8Array[]): "fine" | "broken" {
  const start = startOf(pieces, mostSpace).toString("latin1").trimStart();
  const end = endOf(pieces, mostSpace).toString("latin1").trimEnd();
  return start.startsWith("{") && end.endsWith("}") ? "fine" : "broken";
}

/** The first bytes of all pieces together. */
function startOf(pieces: readonly Uint8Array[], most: number): Buffer {
  const taken: Uint8Array[] = [];
  let left = most;
  for (const piece of pieces) {
    if (left === 0) break;
    const part = piece.subarray(0, left);
    taken.push(part);
    left -= part.length;
  }
  return joined(taken);
}

function endOf(pieces: readonly Uint8Array[], most: number): Buffer {
  const taken: Uint8Array[] = [];
  let left = most;
  for (let at = pieces.length - 1; at >= 0 && left > 0; at -= 1) {
    const part = pieces[at]?.subarray(-left) ?? new Uint8Array();
    taken.unshift(part);
    left -= part.length;
  }
  return joined(taken);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
