import { asBuffer } from "../../base/bytes.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { isDisguised } from "../../dialects/errors/error-body.ts";
import { closeBrace, isSpace, openBrace, skipSpace } from "../../dialects/json/json-bytes.ts";
import { isZero, parseObject } from "../../dialects/json/json-fields.ts";
import type { Head } from "../../wire/transfer.ts";
import { joined, type ResponseQueue } from "./response-queue.ts";

/**
 * Whether a response with status 200 is an error nevertheless. Inspected before anything reaches the client, because
 * until then the error can get its own status, and another deployment can be tried.
 */

const json = /^application\/([\w.-]+\+)?json\b/;

export const unknownType = "its content type is neither JSON nor an event stream";

/** Whether a 200 is a stream or JSON by its head, something else, or what is wrong with it. */
export function inspectHead(
  head: Pick<Head, "get">,
): "stream" | "json" | "other" | { readonly problem: string } {
  const encoding = head.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    return { problem: "it is compressed, which was not requested" };
  }
  const type = head.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return "stream";
  if (type === "application/json" || json.test(type)) return "json";
  return "other";
}

/** Number of bytes that determine the type of a body. */
const maxSniffedBytes = 64;

const streamFields = ["data:", "event:", "id:", "retry:", ":"];

/** Some servers send streams with another content type. "more": not enough bytes to decide. */
export function sniffBody(chunks: readonly Uint8Array[]): "more" | "stream" | "other" {
  const sniffed = joined(chunks).toString("latin1", 0, maxSniffedBytes);
  const start = sniffed.trimStart();
  if (start === "" && sniffed.length === maxSniffedBytes) return "other";
  if (streamFields.some((field) => start.startsWith(field))) return "stream";
  return streamFields.some((field) => field.startsWith(start)) ? "more" : "other";
}

/** Only text that matches is parsed. A Responses object without an error has `"error":null`. */
const suspicious =
  /"error"\s*:\s*["{]|"(?:type|object)"\s*:\s*"(?:error|response\.failed)"|"base_resp"\s*:|"msg"\s*:/;

export const maxInspectedBytes = 64 * 1024;
const quotedError = Buffer.from('"error"');
/** Texts in error bodies that have no `error` field. */
const errorMarkers = [Buffer.from('"base_resp"'), Buffer.from('"msg"')];

function hasErrorMark(bytes: Buffer): boolean {
  if (bytes.indexOf(quotedError) !== -1) return true;
  for (const mark of errorMarkers) if (bytes.indexOf(mark) !== -1) return true;
  return false;
}

/** The error, if the JSON text is one. */
export function errorIn(text: string): JsonObject | null {
  const value = suspicious.test(text) ? parseObject(text) : null;
  return value === null ? null : errorOf(value);
}

function errorOf(body: JsonObject): JsonObject | null {
  if (body["type"] === "error" || body["object"] === "error" || isDisguised(body)) return body;
  if (body["type"] === "response.failed" && isObject(body["response"])) return body["response"];
  const { error } = body;
  return (isObject(error) || typeof error === "string") && !isZero(error) ? body : null;
}

/**
 * Inspects a whole body, without parsing one that is fine: it will be parsed once, to read its usage. No error is as
 * long as `maxInspectedBytes`, and parsing what is longer could take long. "broken": it does not begin and end like a JSON object.
 */
export function inspectWhole(body: Uint8Array): "fine" | "broken" | JsonObject {
  const start = skipSpace(body, 0);
  let end = body.length - 1;
  while (end > start && isSpace(body[end])) end -= 1;
  if (body[start] !== openBrace || body[end] !== closeBrace) return "broken";
  const bytes = joined([body]);
  if (bytes.length > maxInspectedBytes || !hasErrorMark(bytes)) return "fine";
  return errorIn(bytes.toString("utf8")) ?? "fine";
}

/** Inspects the received body. One of more than `maxInspectedBytes` is not joined for that. */
export function inspectBody(received: ResponseQueue): "fine" | "broken" | JsonObject {
  if (received.bytes <= maxInspectedBytes) return inspectWhole(received.joined());
  if (received.pieces[0]?.[0] === openBrace && received.pieces.at(-1)?.at(-1) === closeBrace) return "fine";
  const start = textOf(received.pieces.find((piece) => textOf(piece).trim() !== ""));
  const end = textOf(received.pieces.findLast((piece) => textOf(piece).trim() !== ""));
  return start.trimStart().startsWith("{") && end.trimEnd().endsWith("}") ? "fine" : "broken";
}

function textOf(piece: Uint8Array | undefined): string {
  return piece === undefined ? "" : asBuffer(piece).toString("latin1");
}
