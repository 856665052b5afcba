import { chosenContent } from "../../base/requests/content-level.ts";
import { readLabels } from "../../base/requests/labels.ts";
import type { BodyForm, RecordingEnd } from "../../content/document.ts";
import type { ContentRecorder } from "../../content/recorder.ts";
import type { ContentRecording } from "../../content/recording.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { ReceivedBytes } from "../../upstream/upstream.ts";
import type { AdmittedCall } from "./admitted-call.ts";
import type { Piece } from "./client-call.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/** Begins to record a request whose body has arrived, unless the account, the key or the client forbids it. The model's setting applies later. */
export function beginContent(
  recorder: ContentRecorder,
  { exchange, key }: AdmittedCall,
  body: Uint8Array | string,
): void {
  const { call, configured } = exchange;
  if (!call.route.isCharged) return;
  const { content: settings, tracing, bodyLimits } = configured.settings;
  const wanted = chosenContent(key.accountContent, key.content);
  if (wanted === "none" || isRefused(call.request.headers)) return;
  const traced = call.route.tracedAs !== null && tracing?.content ? bodyLimits : null;
  exchange.taken.content = recorder.begin({ wanted, traced, request: body, settings });
}

/** A client can turn recording off, but cannot ask for more. */
function isRefused(headers: Headers): boolean {
  return headers.get("x-sluice-content") === "none";
}

/** Events of the client's format. */
export function eventsOf({ call: { route } }: Exchange): BodyForm {
  return { kind: "events", format: route.dialect ?? route.eventDialect ?? "metered" };
}

/** The form of a non-streaming body of this type. Only responses of generation routes are known to be valid JSON here. */
function wholeBodyOf(exchange: Exchange, type: string): BodyForm {
  if (type.startsWith("text/event-stream")) return eventsOf(exchange);
  const isJson = type.startsWith("application/json");
  const isValid = isJson && exchange.call.route.dialect !== null;
  if (isJson || /^(?:text\/|application\/[\w.+-]*\+json)/.test(type)) return { kind: "json", isValid };
  return { kind: "bytes", type };
}

/** Records a non-streaming response of this content type before its bytes are released, if completed requests are recorded too. */
export function recordContent(
  content: ContentRecording,
  exchange: Exchange,
  body: Piece,
  contentType: string,
): void {
  const { isKept, isTraced } = content.wants(true);
  if (!isKept && !isTraced) return;
  content.open(wholeBodyOf(exchange, contentType), exchange.model !== null);
  content.response(body);
}

/** Copies a provider's response, because its bytes are released soon. */
export function recordUpstream(content: ContentRecording, { pieces }: ReceivedBytes): void {
  for (const piece of pieces) {
    const { upstreamRoom: room } = content;
    if (room === 0) return;
    content.upstreamResponse(Buffer.from(piece.subarray(0, room)));
  }
}

/** The body of an error that the client gets in place of a response. */
export function recordContentError(exchange: Exchange, body: string): void {
  const { content } = exchange.taken;
  if (content === null || content.isOpen) return;
  content.open({ kind: "json", isValid: true }, false);
  content.response(body);
}

/** Ends the recording of a request that has been charged. */
export function endContent(
  gateway: Gateway,
  exchange: Exchange,
  end: { readonly status: number; readonly outcome: string },
): void {
  const { key, taken } = exchange;
  const { content } = taken;
  exchange.taken.content = null;
  if (content === null || key === null || gateway.content === null) return;
  const { status, outcome } = end;
  const wants = content.wants(outcome === "completed");
  const isUnwanted = outcome === "replayed" || status === 401 || (!wants.isKept && !wants.isTraced);
  const isTooMuch =
    outcome === "rejected" && !isUnwanted && !gateway.content.rejections.takes(key.id, content.requestBytes);
  if (isUnwanted || isTooMuch) {
    content.drop();
    return;
  }
  content.open({ kind: "json", isValid: false }, false);
  content.end(endOf(exchange, key, { status, outcome, ...wants }));
}

const noLabels = { session: null, user: null, tags: {} };

interface ContentEnd {
  readonly status: number;
  readonly outcome: string;
  readonly isKept: boolean;
  readonly isTraced: boolean;
}

function endOf(exchange: Exchange, key: KeyRecord, end: ContentEnd): RecordingEnd {
  const { status, outcome, isKept, isTraced } = end;
  const { id, atMs, model, labels, call, unpricedTools, dropped } = exchange;
  const facts = {
    model: model?.id ?? null,
    key: key.prefix,
    labels: labels === null ? noLabels : labelsOf(labels),
    route: call.route.path,
    status,
    outcome,
    dropped: unpricedTools.length === 0 ? dropped : [...unpricedTools, ...dropped],
    row: { keyId: key.id, owner: key.owner, isKept, isTraced },
  };
  return { id, atMs, usage: hiddenUsage(exchange), facts };
}

function labelsOf(kept: string): RecordingEnd["facts"]["labels"] {
  const { session, user, tags } = readLabels(kept);
  return { session, user, tags };
}

/** A client that did not ask for the usage of its stream may not be sent it, but a whole response would have had it. */
function hiddenUsage({ call, stream, charge }: Exchange): RecordingEnd["usage"] {
  const { dialect } = call.route;
  if (dialect === null || !stream || charge?.basis !== "measured") return null;
  return clientDialect(dialect).writeHiddenUsage?.(charge.usage) ?? null;
}
