import { isObject, type Json, tryParse } from "../base/json.ts";
import type { CollectedBody } from "./body-collector.ts";
import { type CutJson, cutJson } from "./cut-json.ts";
import type { RecordingEnd } from "./document.ts";
import type { Redactor } from "./redactor.ts";
import { dataMarks, replaceData } from "./replace-data.ts";

export interface CollectedContent {
  readonly end: RecordingEnd;
  readonly request: CollectedBody | null;
  readonly response: CollectedBody | null;
  readonly upstream: {
    readonly request: CollectedBody | null;
    readonly response: CollectedBody | null;
  } | null;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
}

const nothing: CutJson = { json: "null", cut: 0 };

/** The document as JSON text. Bodies that need no change are in it as they came, without being parsed. */
export function makeDocument(content: CollectedContent, redactor: Redactor): string {
  const { end, upstream, maxRequestBytes, maxResponseBytes } = content;
  const request = bodyOf(content.request, maxRequestBytes, redactor);
  const response = bodyOf(withUsage(content.response, end.usage), maxResponseBytes, redactor);
  const provider =
    upstream === null
      ? "null"
      : `{"request":${bodyOf(upstream.request, maxRequestBytes, redactor).json},"response":${bodyOf(upstream.response, maxResponseBytes, redactor).json}}`;
  const head = {
    id: end.id,
    time: new Date(end.atMs).toISOString(),
    model: end.model,
    key: end.keyPrefix,
    labels: end.labels,
    route: end.route,
    status: end.status,
    outcome: end.outcome,
    dropped: end.dropped,
    request_cut: request.cut,
    response_cut: response.cut,
  };
  const written = JSON.stringify(head);
  const clean = redactor.isSuspect(written)
    ? JSON.stringify(replaceData(head as unknown as Json, redactor.clean))
    : written;
  return `${clean.slice(0, -1)},"request":${request.json},"response":${response.json},"upstream":${provider}}`;
}

function bodyOf(body: CollectedBody | null, max: number, redactor: Redactor): CutJson {
  if (body === null) return nothing;
  if (body.kind === "value") return cutJson(replaceData(body.value, redactor.clean), max);
  const text = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.length).toString();
  if (body.isValid && body.bytes.length <= max && isPlain(text, redactor)) return { json: text, cut: 0 };
  const value = tryParse(text);
  return cutJson(replaceData(value === undefined ? text : value, redactor.clean), max);
}

/** Whether the text has neither data nor secrets in it, and no escapes that could hide a secret. */
function isPlain(text: string, redactor: Redactor): boolean {
  if (text.includes("\\u") || text.includes("\\/")) return false;
  return !dataMarks.some((mark) => text.includes(mark)) && !redactor.isSuspect(text);
}

/** A client that did not ask for the usage of a stream gets none, but a whole response would have had it. */
function withUsage(response: CollectedBody | null, usage: Json): CollectedBody | null {
  if (usage === null || response?.kind !== "value" || !isObject(response.value)) return response;
  if (response.value["usage"] !== undefined && response.value["usage"] !== null) return response;
  return { kind: "value", value: { ...response.value, usage } };
}
