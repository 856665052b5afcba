import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { errorIn as bareError } from "../../dialects/errors/bare-error.ts";
import { isDisguised } from "../../dialects/errors/refusal.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import type { Head } from "../../wire/transfer.ts";
import { joined } from "./answer-queue.ts";

/**
 * Whether an answer with status 200 is an error nevertheless. Inspected before anything reaches the client, because
 * until then the error can get a status of its own, and another deployment can be tried.
 */

const json = /^application\/([\w.-]+\+)?json\b/;

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

const streamFields = ["data:", "event:", "id:", "retry:", ":"];

/** Some servers send streams with another content type. "more": too little has come to tell. */
export function sniffBody(chunks: readonly Uint8Array[]): "more" | "stream" | "other" {
  const start = joined(chunks).toString("latin1", 0, 64).trimStart();
  if (streamFields.some((field) => start.startsWith(field))) return "stream";
  return streamFields.some((field) => field.startsWith(start)) ? "more" : "other";
}

/** Only text that matches is parsed. A Responses object without an error has `"error":null`. */
const suspicious =
  /"error"\s*:\s*["{]|"(?:type|object)"\s*:\s*"(?:error|response\.failed)"|"base_resp"\s*:|"msg"\s*:/;

const mostBytes = 64 * 1024;
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

/** "more": no frame with data is complete yet. "fine": the first one is no error. "empty": there is none. Else: the error. */
export type StreamStart = "more" | "fine" | "empty" | JsonObject;

/** Inspects the beginning of a stream, wherever its chunks are cut. `isEnd`: nothing more will come. */
export function inspectStart(chunks: readonly Uint8Array[], isEnd: boolean): StreamStart {
  const bytes = joined(chunks);
  if (beginsWell(bytes)) return "fine";
  const text = bytes.toString("utf8", 0, Math.min(bytes.length, mostBytes)).replace(/\r\n?/g, "\n");
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n\n", from);
    if (end === -1 && !isEnd) break;
    const data = dataOf(text.slice(from, end === -1 ? text.length : end));
    if (data !== "") return errorIn(data) ?? "fine";
    if (end === -1) break;
    from = end + 2;
  }
  if (isEnd) return bareError(text) ?? "empty";
  return bytes.length >= mostBytes ? "fine" : "more";
}

/** True for nearly all streams: a first frame with data, and without the marks of an error. Decodes nothing. */
function beginsWell(bytes: Buffer): boolean {
  const end = bytes.indexOf(blankLine);
  if (end === -1) return false;
  const frame = bytes.subarray(0, end);
  const data = frame.indexOf(dataField);
  if (data === -1 || (data > 0 && frame[data - 1] !== lf) || frame.indexOf(openBrace, data) === -1)
    return false;
  return !hasErrorMark(frame) && frame.indexOf(failedType) === -1 && frame.indexOf(cr) === -1;
}

function hasErrorMark(bytes: Buffer): boolean {
  if (bytes.indexOf(quotedError) !== -1) return true;
  for (const mark of disguises) if (bytes.indexOf(mark) !== -1) return true;
  return false;
}

/** The error, if the JSON text is one. */
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
  if (body["type"] === "error" || body["object"] === "error" || isDisguised(body)) return body;
  if (body["type"] === "response.failed" && isObject(body["response"])) return body["response"];
  const error = body["error"];
  return isObject(error) || (typeof error === "string" && error !== "") ? body : null;
}

/**
 * Inspects a whole body, without parsing one that is fine: it will be parsed once, to read its usage. No error is as
 * long as `mostBytes`, and parsing what is longer could take long. "broken": it does not begin and end like a JSON object.
 */
export function inspectWhole(body: Uint8Array): "fine" | "broken" | JsonObject {
  let start = 0;
  let end = body.length - 1;
  while (start < end && isSpace(body[start])) start += 1;
  while (end > start && isSpace(body[end])) end -= 1;
  if (body[start] !== openBrace || body[end] !== closeBrace || start === end) return "broken";
  const bytes = joined([body]);
  if (bytes.length > mostBytes || !hasErrorMark(bytes)) return "fine";
  return errorIn(bytes.toString("utf8")) ?? "fine";
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
