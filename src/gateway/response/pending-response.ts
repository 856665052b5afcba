import { shared } from "../../base/bytes.ts";
import type { GatewayError } from "../../base/errors.ts";
import { type ReportedExtras, type ReportedUsage, totalTokens, type Usage } from "../../base/usage/usage.ts";
import type { InputEstimate } from "../../catalog/estimate.ts";
import { backgroundFields } from "../../dialects/openai-responses/client/background.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import { continuedFields, withMembers } from "../../dialects/openai-responses/client/turn-items.ts";
import type { StreamFindings } from "../../dialects/provider-response/stream-findings.ts";
import type { EndedIds } from "../../dialects/provider-response/stream-reader.ts";
import type { ParsedEvent } from "../../dialects/sse/event.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { Attempt } from "../attempt/generation.ts";
import type { GenerationCall } from "../attempt/provider-call.ts";
import { isLargeBody } from "../body-worker/large-body.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import { membersJob } from "../conversations/item-jobs.ts";
import { recordTurn } from "../conversations/record-turn.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { RoutedCall } from "../request/route.ts";

/** A call with its hold, whatever it asks for. */
export interface ChargedCall {
  readonly call: RoutedCall;
  readonly meter: CostMeter;
  readonly request: Pick<ClientRequest, "bytes">;
  readonly estimatedInput: Pick<InputEstimate, "tokens">;
}

/** A provider's response that has started. */
export interface Delivery {
  readonly asking: ChargedCall;
  readonly opened: OpenedCall;
}

/** A generation's delivery. */
export interface PendingResponse extends Delivery {
  readonly asking: GenerationCall;
  readonly attempt: Attempt;
}

/** The gateway's findings in a response besides its content. */
export interface ResponseFacts {
  /** Ids of the provider's resources. */
  readonly issued: readonly string[];
  /** Null if the provider has not reported it, or not yet. */
  readonly usage: ReportedUsage | null;
  readonly extras: ReportedExtras | null;
  readonly streamed?: StreamedItems | undefined;
  /** The ids in a non-streaming response that can be stored unchanged. */
  readonly endedIds?: EndedIds | null | undefined;
}

/**
 * Stores the ids the client knows now, what is charged in addition to tokens, and what is kept of the response: its whole
 * body, or the end of its stream. Call it before settling, and await the result.
 */
export async function recordFacts(pending: Delivery, facts: ResponseFacts, answer: Piece): Promise<void> {
  const { asking, opened } = pending;
  const { call, meter } = asking;
  const { gateway, keyId, turn } = call;
  if (facts.issued.length > 0) {
    const tokens = facts.usage === null ? meter.held.input : totalTokens(facts.usage);
    const issuer = { provider: opened.deployment.provider.settings.name, credential: opened.credential };
    gateway.idOwners.remember(keyId, issuer, facts.issued, tokens);
  }
  meter.noteExtras(facts.extras);
  if (turn.keeping !== null) meter.turns = await recordTurn(call, turn.keeping, answer, facts);
}

/**
 * A response, or the end of its stream, with fields that a provider does not know: its conversation, and the id of a
 * background response. Text that was written here already has the conversation. Slow work is done on another thread.
 */
export async function asCreated(call: RoutedCall, answer: Piece): Promise<Piece> {
  const { keeping, background } = call.turn;
  const parentId = keeping?.conversation?.id;
  if (background === null && (parentId === undefined || typeof answer === "string")) return answer;
  const changes = {
    ...(parentId !== undefined && continuedFields(parentId)),
    ...(background !== null && backgroundFields(background.id)),
  };
  const bytes = bytesOf(answer);
  if (!isLargeBody(bytes)) return withMembers(bytes, changes);
  return call.gateway.largeBodies.runResponse(membersJob, { bytes: shared(bytes), changes });
}

export const jsonHeaders = { "content-type": "application/json" };

export const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Keeps nginx from buffering the stream.
  "x-accel-buffering": "no",
};

/**
 * Turns a provider's stream into the client's, passed through or translated; the pump (stream-pump.ts) does not depend
 * on which. `push` and `end` never return the pieces that end the client's stream: those come from `terminal`, after
 * the charge is committed.
 */
export interface StreamRelayer {
  /** The pieces are not events: nothing can be inserted between them, and only closing the connection reports a failure. */
  readonly isRaw?: true;
  /**
   * The state of the provider's stream. A failure is stored there and not thrown, because everything before it, even in
   * the same chunk, is delivered and charged.
   */
  readonly found: StreamFindings;
  /** Takes a chunk of the provider, returns what may leave now. Check `largeEvent` and `found.failure` afterwards. */
  push(chunk: Uint8Array): Piece;
  /** The provider's body has ended. Check `largeEvent`, and if there is one, call it again; then the failure. */
  end(): Piece;
  /**
   * A part of a large event has arrived, or a long response that the end may repeat. Completing it takes milliseconds, so the next
   * chunk is pushed in a separate event-loop iteration.
   */
  readonly isCollecting: boolean;
  /**
   * The data of an event that would take long to parse. Nothing after it has been read, and nothing may be pushed
   * before `resume` was called with its parsed form, which returns the pieces that can be sent now. Another large event
   * may follow.
   */
  readonly largeEvent: string | null;
  resume(parsed: ParsedEvent): Piece;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  /** The answer is complete, although the provider has not ended its stream. Only for dialects whose providers forget that. */
  readonly isComplete: boolean;
  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void;
  terminal(): Piece;
  /** Ids of the provider's resources that the client has seen; absent if it sees none. */
  readonly issued?: readonly string[];
  /** The streamed items of a response that is stored, in case `terminal` lacks them. */
  readonly streamed?: StreamedItems | undefined;
  /** The ids in the response that `terminal` contains whole. */
  readonly endedIds?: EndedIds | null;
  /** The dialect's in-band failure, which never looks like a proper end; shows what was charged, null for nothing. */
  failure(error: GatewayError, charged: Usage | null): string;
  /** Sent while the provider is silent. */
  heartbeat(): string;
}

export function factsOf({ found, issued = [], streamed, endedIds }: StreamRelayer): ResponseFacts {
  return { issued, usage: found.usage, extras: found.extras, streamed, endedIds };
}

/** How long a complete response can wait for its end of stream; longer while usage may still follow. */
const overdueMs = 1000;
const overdueWithoutUsageMs = 5000;

/** Whether a provider has gone silent after a complete response. Some servers never close the stream. */
export function isEndOverdue(
  { found, isComplete }: Pick<StreamRelayer, "found" | "isComplete">,
  silenceMs: number,
): boolean {
  if (silenceMs < (found.partialUsage === null ? overdueWithoutUsageMs : overdueMs)) return false;
  return found.started && isComplete;
}
