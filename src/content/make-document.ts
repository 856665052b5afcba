import { assert } from "../base/assert.ts";
import { isObject, type Json, tryParse } from "../base/json.ts";
import type { CollectedBody, WrittenBody } from "./body-collector.ts";
import type { ReadEnd } from "./end-frame.ts";
import { isPlain } from "./plain-json.ts";
import type { Redactor } from "./redactor.ts";
import { replaceData } from "./replace-data.ts";
import { truncateToBytes } from "./truncate-to-bytes.ts";

export interface CollectedContent {
  readonly end: ReadEnd;
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
 * The document as JSON, after one byte that is reserved for packing. Bodies that need no change are copied without parsing them. Most
 * need none, so the document is written as if none did, and then searched for what must not be in it.
 */
export function makeDocument(content: CollectedContent, redactor: Redactor): Uint8Array {
  const copied = writeDocument(content, copyBody);
  if (copied !== null && isPlain(copied.document, copied.bodiesFrom, redactor)) return copied.document;
  const cleaned = writeDocument(content, (body, max) => cleanBody(body, max, redactor));
  assert(cleaned !== null, "any body can be cleaned");
  return cleaned.document;
}

interface WrittenDocument {
  readonly document: Buffer;
  /** Index at which the request begins. The bytes before it need no redaction. */
  readonly bodiesFrom: number;
}

/** Null if a body cannot be written this way. */
function writeDocument(
  content: CollectedContent,
  write: (body: CollectedBody | null, max: number) => WrittenBody | null,
): WrittenDocument | null {
  const { end, upstream, maxRequestBytes, maxResponseBytes } = content;
  const request = write(content.request, maxRequestBytes);
  const response = write(withUsage(content.response, end.usage), maxResponseBytes);
  if (request === null || response === null) return null;
  const head = ` {${end.members},"request_cut":${request.cut},"response_cut":${response.cut},"request":`;
  if (upstream === null)
    return joined(head, [request.json, ',"response":', response.json, ',"upstream":null}']);
  const sent = write(upstream.request, maxRequestBytes);
  const returned = write(upstream.response, maxResponseBytes);
  if (sent === null || returned === null) return null;
  const both = [',"upstream":{"request":', sent.json, ',"response":', returned.json, "}}"];
  return joined(head, [request.json, ',"response":', response.json, ...both]);
}

function joined(head: string, pieces: readonly (string | Buffer)[]): WrittenDocument {
  const bodiesFrom = Buffer.byteLength(head);
  const bytes = pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece));
  const document = Buffer.concat([Buffer.from(head), ...bytes]);
  return { document, bodiesFrom };
}

/** The unchanged body; null if it has to be parsed or cut. */
function copyBody(body: CollectedBody | null, max: number): WrittenBody | null {
  if (body === null) return nothing;
  if (body.kind === "written") return body;
  if (body.kind === "value") {
    const json = JSON.stringify(body.value);
    // A character has three bytes at most.
    return json.length * 3 <= max ? { json, cut: body.skippedBytes } : null;
  }
  const { part, isValid } = body;
  return isValid && part.length <= max ? { json: part, cut: 0 } : null;
}

/** The body without data and secrets, and not longer than the maximum. */
export function cleanBody(body: CollectedBody | null, max: number, redactor: Redactor): WrittenBody {
  if (body === null) return nothing;
  if (body.kind === "written") return body;
  if (body.kind === "value") {
    const { json, cut } = truncateToBytes(replaceData(body.value, redactor.clean), max);
    return { json, cut: cut + body.skippedBytes };
  }
  const text = body.part.toString();
  const value = tryParse(text);
  return truncateToBytes(replaceData(value === undefined ? text : value, redactor.clean), max);
}

/** A client that did not request the usage of a stream gets none, but a non-streaming response would have it. */
function withUsage(response: CollectedBody | null, usage: Json): CollectedBody | null {
  if (usage === null || response?.kind !== "value" || !isObject(response.value)) return response;
  if (response.value["usage"] !== undefined && response.value["usage"] !== null) return response;
  return { ...response, value: { ...response.value, usage } };
}
