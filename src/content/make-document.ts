import { isObject, type Json, tryParse } from "../base/json.ts";
import type { CollectedBody, WrittenBody } from "./body-collector.ts";
import type { RecordingEnd } from "./document.ts";
import { type Part, textOf } from "./frame-log.ts";
import type { Redactor } from "./redactor.ts";
import { dataMarks, replaceData } from "./replace-data.ts";
import { truncateToBytes } from "./truncate-to-bytes.ts";

export interface CollectedContent {
  readonly end: RecordingEnd;
  /** The same as it was written. */
  readonly written: string;
  readonly request: CollectedBody | null;
  readonly response: CollectedBody | null;
  readonly upstream: {
    readonly request: CollectedBody | null;
    readonly response: CollectedBody | null;
  } | null;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
}

const nothing: WrittenBody = { json: "null", cut: 0 };

/**
 * The document as JSON, behind one byte that is left free for the packing. Bodies that need no change are in it as they came, without
 * being parsed.
 */
export function makeDocument(content: CollectedContent, redactor: Redactor): Uint8Array {
  const { end, written, upstream, maxRequestBytes, maxResponseBytes } = content;
  const request = bodyOf(content.request, maxRequestBytes, redactor);
  const response = bodyOf(withUsage(content.response, end.row.usage), maxResponseBytes, redactor);
  const cuts = `,"request_cut":${request.cut},"response_cut":${response.cut}`;
  const head = ` ${headOf(written, redactor)}${cuts},"request":`;
  const pieces = [head, request.json, ',"response":', response.json];
  if (upstream === null) return joined([...pieces, ',"upstream":null}']);
  const sent = bodyOf(upstream.request, maxRequestBytes, redactor).json;
  const returned = bodyOf(upstream.response, maxResponseBytes, redactor).json;
  return joined([...pieces, ',"upstream":{"request":', sent, ',"response":', returned, "}}"]);
}

/** Without its closing brace. */
function headOf(written: string, redactor: Redactor): string {
  const head = written.slice(0, written.lastIndexOf(rowStart));
  if (!redactor.isSuspect(head)) return head;
  return JSON.stringify(replaceData(JSON.parse(`${head}}`) as Json, redactor.clean)).slice(0, -1);
}

const rowStart = ',"row":{';

function joined(pieces: readonly (string | Part)[]): Uint8Array {
  let length = 0;
  for (const piece of pieces)
    length += typeof piece === "string" ? Buffer.byteLength(piece) : piece.end - piece.start;
  const document = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") at += document.write(piece, at);
    else at += piece.source.copy(document, at, piece.start, piece.end);
  }
  return document;
}

export function bodyOf(body: CollectedBody | null, max: number, redactor: Redactor): WrittenBody {
  if (body === null) return nothing;
  if (body.kind === "written") return body;
  if (body.kind === "value") {
    const { json, cut } = joinedBody(body.value, max, redactor);
    return { json, cut: cut + body.skippedBytes };
  }
  const { part, isValid } = body;
  const { source, start, end } = part;
  if (isValid && end - start <= max && isPlain(source.toString("latin1", start, end), redactor))
    return { json: part, cut: 0 };
  const text = textOf(part);
  const value = tryParse(text);
  return truncateToBytes(replaceData(value === undefined ? text : value, redactor.clean), max);
}

/** Most joined streams need no change. */
function joinedBody(value: Json, max: number, redactor: Redactor): WrittenBody {
  const json = JSON.stringify(value);
  // A character has three bytes at most.
  const isShort = json.length * 3 <= max;
  return isShort && isPlain(json, redactor)
    ? { json, cut: 0 }
    : truncateToBytes(replaceData(value, redactor.clean), max);
}

/** Whether it has neither data nor secrets in it, and no escapes that could hide a secret. */
function isPlain(text: string, redactor: Redactor): boolean {
  return !dataOrEscapes.test(text) && !redactor.isSuspect(text);
}

const dataOrEscapes = new RegExp(`${dataMarks.source}|\\\\[u/]`);

/** A client that did not ask for the usage of a stream gets none, but a whole response would have had it. */
function withUsage(response: CollectedBody | null, usage: Json): CollectedBody | null {
  if (usage === null || response?.kind !== "value" || !isObject(response.value)) return response;
  if (response.value["usage"] !== undefined && response.value["usage"] !== null) return response;
  return { ...response, value: { ...response.value, usage } };
}
