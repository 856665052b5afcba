import { asBuffer } from "../../base/bytes.ts";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ProviderDialect } from "../../dialects/contract/provider-dialect.ts";
import { errorIn as bareError } from "../../dialects/errors/bare-error.ts";
import { isDisguised } from "../../dialects/errors/error-body.ts";
import { translateRateLimits } from "../../dialects/errors/rate-limits.ts";
import { type ForwardedHeaders, pickHeaders } from "../../dialects/headers.ts";
import { closeBrace, isSpace, openBrace, skipSpace } from "../../dialects/json/json-bytes.ts";
import { isZero, parseObject } from "../../dialects/json/json-fields.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { dataOf } from "../../dialects/sse/event.ts";
import type { Head } from "../../wire/transfer.ts";
import type { Deployment, Plan } from "../upstream.ts";
import { joined, type ResponseQueue } from "./response-queue.ts";

/**
 * Whether a response with status 200 is an error nevertheless. Inspected before anything reaches the client, because
 * until then the error can get its own status, and another deployment can be tried. Also which of its headers the client
 * gets.
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

const maxInspectedBytes = 64 * 1024;
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

/** How long the opening events of a stream wait for content. Until then another deployment can be tried. */
export const openingMs = 2000;

/** OpenAI's opening events repeat the instructions and the tools of the request, twice. */
const maxOpeningBytes = 256 * 1024;

/** The beginning of an event decides whether it is an opening one. A chat chunk with a role has 300 to 500 characters. */
const maxHeadChars = 1024;

const blankLine = Buffer.from("\n\n");

/** A dialect's rules for the beginning of a stream. */
export type StartRules = Pick<ProviderDialect, "failedStart" | "isOpening">;

/**
 * "more": no frame with data is complete yet. "opening": all frames announce a response, and have no content. "fine":
 * there is content, or more than is inspected. "empty": the stream has ended without any. Else: the error, or the
 * failure of the response.
 */
export type StreamStart = "more" | "opening" | "fine" | "empty" | JsonObject | GatewayError;

/** Inspects the beginning of a stream, with chunks cut anywhere. `isEnd`: nothing more will arrive. */
export function inspectStart(
  chunks: readonly Uint8Array[],
  isEnd: boolean,
  rules: StartRules = {},
): StreamStart {
  const all = joined(chunks);
  const opened = skipOpening(all, rules);
  const bytes = opened === 0 ? all : all.subarray(opened);
  const text = bytes.toString("utf8", 0, Math.min(bytes.length, maxInspectedBytes)).replace(/\r\n?/g, "\n");
  let isOpening = opened > 0;
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n\n", from);
    if (end === -1 && !isEnd) break;
    const frame = text.slice(from, end === -1 ? text.length : end);
    const data = dataOf(frame);
    if (data !== "") {
      const failure = errorIn(data) ?? failureIn(data, rules);
      if (failure !== null) return failure;
      if (!isOpeningFrame(frame, rules)) return "fine";
      isOpening = true;
    }
    if (end === -1) break;
    from = end + 2;
  }
  if (isEnd) return (isOpening ? null : bareError(text)) ?? "empty";
  if (bytes.length >= maxInspectedBytes || all.length >= maxOpeningBytes) return "fine";
  return isOpening ? "opening" : "more";
}

/** The usage that the opening events of a failed stream have reported; null if none. */
export function openingUsage(
  chunks: readonly Uint8Array[],
  rules: Pick<ProviderDialect, "isOpening" | "openingUsage">,
): Usage | null {
  if (rules.openingUsage === undefined) return null;
  const bytes = joined(chunks);
  const text = bytes.toString("utf8", 0, skipOpening(bytes, rules));
  const reported = text.split("\n\n").map((frame) => {
    const data = parseObject(dataOf(frame));
    return data === null ? null : (rules.openingUsage?.(data) ?? null);
  });
  return reported.find((usage) => usage !== null) ?? null;
}

/** The length of the opening events. Decodes only their beginnings, because they may be large. */
function skipOpening(bytes: Buffer, rules: StartRules): number {
  if (rules.isOpening === undefined) return 0;
  for (let at = 0; ; ) {
    const end = bytes.indexOf(blankLine, at);
    if (end === -1 || !isOpeningFrame(headOf(bytes, at, end), rules)) return at;
    at = end + blankLine.length;
  }
}

function headOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, Math.min(end, start + maxHeadChars));
}

function isOpeningFrame(frame: string, { isOpening }: StartRules): boolean {
  return isOpening?.(frame.slice(0, maxHeadChars)) === true;
}

function failureIn(data: string, { failedStart }: StartRules): GatewayError | null {
  if (failedStart?.marks.some((mark) => data.includes(mark)) !== true) return null;
  const frame = parseObject(data);
  return frame === null ? null : failedStart.failureIn(frame);
}

/** The headers of a provider's response that the client gets. */
export function shownHeaders(
  head: Head,
  { provider }: Deployment,
  plan: Pick<Plan, "clientDialect">,
  clock: Clock,
): ForwardedHeaders {
  const headers = pickResponse(head);
  if (!provider.settings.rateLimitHeaders) return headers;
  const { errorFormat } = clientDialect(plan.clientDialect);
  return { ...headers, ...translateRateLimits(head, errorFormat.rateLimits, clock.wallMs()) };
}

/**
 * Headers that are useful to clients and reveal nothing about the operator's account. All others are dropped: cookies,
 * account names, keys and the account's rate limits.
 */
const responseNames = [
  "openai-model",
  "openai-processing-ms",
  "openai-version",
  "x-codex-turn-state",
] as const;

export function pickResponse(provider: Pick<Head, "get">): ForwardedHeaders {
  return pickHeaders(responseNames, provider);
}
