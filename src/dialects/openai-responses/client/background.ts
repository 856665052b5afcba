import { asBuffer } from "../../../base/bytes.ts";
import { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../base/usage/usage.ts";
import { closeBrace, skipSpace } from "../../json/json-bytes.ts";
import { scanObject } from "../../json/json-spans.ts";
import { type BodyChanges, type MemberChanges, patchedPieces, patchMembers } from "../../json/patch.ts";
import { dataFrame, namedFrame, type SseFrame } from "../../sse/sse.ts";
import { eventType } from "../event-type.ts";
import { requestEcho, responseHead, writeUsage } from "./envelope-out.ts";
import { responseError } from "./stream-out.ts";
import { memberOf, parsedValue } from "./turn-items.ts";

/** Responses in the background: the objects and events that no provider writes. */

/** Streamed, so that what it produces is known at any moment, and in the foreground for the provider. */
const asStream: BodyChanges = { background: undefined, stream: true };

/** The pieces of the request that runs in the foreground. */
export function inForeground(
  request: Parameters<typeof patchedPieces>[0],
  spans: Parameters<typeof patchedPieces>[1],
): readonly Uint8Array[] {
  return patchedPieces(request, spans, asStream);
}

/** Fields that every background response has, also if a provider wrote it. */
export function backgroundFields(id: string): MemberChanges {
  return { id, background: true, store: true };
}

interface QueuedResponse {
  readonly id: string;
  readonly atSeconds: number;
  readonly body: JsonObject;
  readonly model: string;
  readonly parentId: string | null;
}

/** The JSON of a response that no provider has started yet, without its output. */
export function queuedHead({ id, atSeconds, body, model, parentId }: QueuedResponse): Uint8Array {
  const head = {
    ...responseHead(id, atSeconds, { status: "queued" }),
    ...requestEcho(body, model, { parentId, isStored: true }),
    background: true,
  };
  return Buffer.from(JSON.stringify(head));
}

export interface BackgroundStatus {
  readonly status: string;
  /** Whether it has not ended. */
  readonly isOpen: boolean;
}

/** Null for a response that was not created in the background. */
export function backgroundStatus(head: Uint8Array): BackgroundStatus | null {
  const spans = scanObject(head, skipSpace(head, 0), ["background", "status"]);
  const [background, member] = ["background", "status"].map((name) => memberOf(spans, name));
  if (background === undefined || parsedValue(head, background) !== true) return null;
  const status = String(member === undefined ? "" : parsedValue(head, member));
  return { status, isOpen: status === "queued" || status === "in_progress" };
}

/** The statuses of stored responses that cannot be continued. The gateway has written them itself. */
const unfinished = ["queued", "failed", "cancelled"].map((status) => `"${status}"`);

/** The status of a response that cannot be continued; null for any other. */
export function unfinishedStatus(head: Uint8Array): string | null {
  const bytes = asBuffer(head);
  // Most heads need no closer look.
  if (!unfinished.some((status) => bytes.includes(status))) return null;
  const found = backgroundStatus(head);
  return found !== null && unfinished.includes(`"${found.status}"`) ? found.status : null;
}

export function inProgress(head: Uint8Array): Uint8Array {
  return patchMembers(head, { status: "in_progress" });
}

export function cancelledHead(head: Uint8Array, usage: Usage | null): Uint8Array {
  return patchMembers(head, { status: "cancelled", usage: usage && writeUsage(usage) });
}

export function failedHead(head: Uint8Array, error: GatewayError, usage: Usage | null): Uint8Array {
  const changes = { status: "failed", error: responseError(error), usage: usage && writeUsage(usage) };
  return patchMembers(head, changes);
}

const endMark = dataFrame("[DONE]");

/** Whether these events are the last ones. */
export function isEnd(events: Uint8Array): boolean {
  return asBuffer(events.subarray(-endMark.length)).toString() === endMark;
}

const endTypes: ReadonlySet<unknown> = new Set([
  ...["response.completed", "response.incomplete", "response.failed"],
]);

/** Types of events that the gateway writes itself, or that have nothing of the response. */
const ownTypes: ReadonlySet<unknown> = new Set([
  ...["response.created", "response.queued", "response.in_progress", "keepalive"],
]);

/** An event of the gateway's own about the whole response. */
export function responseEvent(type: string, response: Uint8Array, sequenceNumber: number): string {
  const end = endTypes.has(type) ? endMark : "";
  const json = asBuffer(response).toString();
  return namedFrame(type, `{"type":"${type}","sequence_number":${sequenceNumber},"response":${json}}`) + end;
}

/** The whole response without any output. */
export function withoutOutput(head: Uint8Array): Uint8Array {
  const end = head.lastIndexOf(closeBrace);
  return Buffer.concat([head.subarray(0, end), Buffer.from(',"output":[]'), head.subarray(end)]);
}

/** What to do with an event of the stream: renumber it, or end with its response. Null if it is dropped. */
export type KeptEvent =
  | { readonly kind: "numbered"; write(sequenceNumber: number): string }
  | { readonly kind: "end"; readonly type: string; readonly response: Uint8Array };

export function keptEvent({ event, data }: SseFrame, id: string): KeptEvent | null {
  if (data === "[DONE]") return null;
  const type = eventType(data);
  if (typeof type !== "string" || ownTypes.has(type)) return null;
  const bytes = Buffer.from(data);
  if (!endTypes.has(type)) {
    return { kind: "numbered", write: (number) => namedFrame(event || type, renumbered(bytes, number)) };
  }
  const response = memberOf(scanObject(bytes, skipSpace(bytes, 0), ["response"]), "response");
  if (response === undefined) return null;
  const written = bytes.subarray(response.valueStart, response.end);
  return { kind: "end", type, response: patchMembers(written, backgroundFields(id)) };
}

/** A provider's event that cannot be read stays unchanged. */
function renumbered(event: Buffer, sequenceNumber: number): string {
  try {
    return asBuffer(patchMembers(event, { sequence_number: sequenceNumber })).toString();
  } catch (error) {
    if (error instanceof GatewayError) return event.toString();
    throw error;
  }
}
