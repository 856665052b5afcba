import { shared } from "../../base/bytes.ts";
import { type ReportedExtras, type ReportedUsage, totalTokens } from "../../base/usage/usage.ts";
import type { InputEstimate } from "../../catalog/estimate.ts";
import { backgroundFields } from "../../dialects/openai-responses/client/background.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import { continuedFields, withMembers } from "../../dialects/openai-responses/client/turn-items.ts";
import type { EndedIds } from "../../dialects/provider-response/read-event.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { Attempt } from "../attempt/attempt.ts";
import type { Generation } from "../attempt/generation.ts";
import type { GenerationCall } from "../attempt/provider-call.ts";
import { isLargeBody } from "../body-worker/is-large.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import { membersJob } from "../conversations/item-jobs.ts";
import { recordTurn } from "../conversations/record-turn.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { RoutedCall } from "../request/route.ts";

/** A provider's response that has started, and everything needed to deliver it as a stream. */
export interface Delivery {
  readonly call: RoutedCall;
  readonly generation: {
    readonly request: Pick<ClientRequest, "bytes">;
    readonly estimatedInput: Pick<InputEstimate, "tokens">;
  };
  readonly opened: OpenedCall;
  readonly meter: CostMeter;
}

/** A generation's delivery. */
export interface PendingResponse extends Delivery {
  readonly generation: Generation;
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
  const { call, opened, meter } = pending;
  const { gateway, keyId, turn } = call;
  const tokens = facts.usage === null ? meter.held.input : totalTokens(facts.usage);
  const issuer = { provider: opened.deployment.provider.settings.name, credential: opened.credential };
  gateway.idOwners.remember(keyId, issuer, facts.issued, tokens);
  meter.noteExtras(facts.extras);
  if (turn.keeping !== null) meter.turns = await recordTurn(call, turn.keeping, answer, facts);
}

/**
 * A response, or the end of its stream, with fields that a provider does not know: its conversation, and the id of a
 * background response. Text that was written here already has the conversation. Slow work is done on another thread.
 */
export async function asCreated({ call }: Delivery, answer: Piece): Promise<Piece> {
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
