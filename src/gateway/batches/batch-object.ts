import { isObject, type JsonObject, tryParse } from "../../base/json.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import type { BatchRecord, BatchState, KeyMode } from "../../store/store.ts";
import { openText } from "./sealed-text.ts";

/** What a client has sent with a batch: kept as JSON. */
export interface BatchRequest {
  /** The headers of the create, which every line gets. */
  readonly headers: readonly (readonly [string, string])[];
  readonly address: string;
  readonly metadata: JsonObject | null;
  /** How long its results are kept, if it is shorter than usual. */
  readonly outputMs?: number | null;
  /** The model of all its lines, once they are known; null if they have several, or one has none. */
  readonly model?: string | null;
}

/** Where the request is stored. */
export function placeOfRequest(batchId: string): string {
  return `${batchId} request`;
}

/** Without the key that it was encrypted with, nothing of it is known. */
export function readRequestOf(
  { id, request }: Pick<BatchRecord, "id" | "request">,
  key: Uint8Array | null,
): BatchRequest {
  const opened = tryParse(openText(request, placeOfRequest(id), key));
  // As it was written.
  return isObject(opened)
    ? (opened as unknown as BatchRequest)
    : { headers: [], address: "", metadata: null };
}

/** What an OpenAI batch is shown with. */
export interface ShownTo {
  readonly mode: KeyMode;
  /** What its request is encrypted with. */
  readonly key: Uint8Array | null;
  /** Why no line can be charged now; null if lines can. */
  readonly storeProblem: string | null;
}

/** An OpenAI batch as its client sees it. */
export function batchObject(
  batch: BatchRecord,
  { mode, key, storeProblem }: ShownTo,
): JsonObject & { readonly id: string } {
  const { status, endedAtMs, errors, total, completed, failed } = batch;
  const endedWith = (...of: readonly BatchRecord["status"][]) =>
    of.includes(status) ? seconds(endedAtMs) : null;
  const problems: JsonObject[] | null = errors === null ? null : JSON.parse(errors);
  const { metadata, model = null } = readRequestOf(batch, key);
  return {
    id: batch.id,
    object: "batch",
    endpoint: batch.endpoint,
    ...(model === null ? {} : { model }),
    errors: problems && { object: "list", data: problems },
    input_file_id: batch.fileId,
    completion_window: "24h",
    status,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    created_at: seconds(batch.createdAtMs),
    in_progress_at: seconds(batch.inProgressAtMs),
    expires_at: seconds(batch.expiresAtMs),
    finalizing_at: endedWith("completed"),
    completed_at: endedWith("completed"),
    failed_at: endedWith("failed"),
    expired_at: endedWith("expired"),
    cancelling_at: seconds(batch.cancellingAtMs),
    cancelled_at: endedWith("cancelled"),
    request_counts: { total, completed, failed },
    usage: usageOf(batch),
    metadata,
    sluice: {
      ...stateOf(batch, storeProblem),
      estimate: batch.estimate === null ? null : shownAmount(batch.estimate, mode),
      charged: shownAmount(batch.charged, mode),
    },
  };
}

/** In credits or tokens. */
function shownAmount(amount: number, mode: KeyMode): number {
  return mode === "credit" ? creditsFromNano(amount) : amount;
}

/** What the gateway knows of a batch beyond the clients' own fields. */
export function stateOf(
  { endedAtMs, isPaused, waitsFor }: BatchRecord,
  storeProblem: string | null = null,
): {
  readonly state: BatchState;
  readonly reason: string | null;
} {
  if (endedAtMs !== null) return { state: "ended", reason: null };
  if (isPaused) return { state: "paused", reason: "restored" };
  if (storeProblem !== null) return { state: "waiting", reason: "store" };
  return { state: waitsFor === null ? "running" : "waiting", reason: waitsFor };
}

function usageOf({ inputTokens, cachedTokens, outputTokens, reasoningTokens }: BatchRecord): JsonObject {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
