import { type ErrorCode, GatewayError } from "../../base/errors.ts";
import type { Usage } from "../../base/usage/usage.ts";
import { renderError } from "../../dialects/errors/envelope.ts";
import { plainErrors } from "../../dialects/registry.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { BatchTokens, ClaimedLine, LineEnd, Reports } from "../../store/store.ts";
import { DetachedCall } from "../background/detached-call.ts";
import { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { ServedRoute } from "../exchange/served-operation.ts";
import { bodyPieces, openBody } from "../turns/turn-body.ts";
import { WaitsForProvider } from "./at-provider/outbox.ts";
import type { BatchRequest } from "./batch-object.ts";
import { type LineAtProviderParts, LineOrigin, nameOfResult } from "./line-origin.ts";
import type { OpenBatch } from "./open-batch.ts";
import { lineLength, nameOfError } from "./results.ts";

/** Runs of a line that reach a provider, processes that may end while they run it, and times that it is sent again after its provider's batch was cancelled. */
const [maxTries, maxCrashes, maxCancelled] = [5, 3, 3];

/**
 * It runs again. `cause`: the provider, or the gateway, has too much to do; the provider has failed; or the key must
 * wait for tokens.
 */
export interface RunAgain {
  readonly kind: "again";
  readonly afterMs: number | null;
  readonly hasReached: boolean;
  readonly cause: "busy" | "failed" | "limit" | null;
  /** Its provider's batch was cancelled, and not by us. */
  readonly isCancelled?: boolean;
}

/** What became of a run. */
export type LineOutcome =
  | { readonly kind: "ended"; readonly end: LineEnd }
  /** Its provider runs it. */
  | { readonly kind: "left" }
  | RunAgain
  /** The batch waits for this limit, which may reset then. */
  | {
      readonly kind: "wait";
      readonly waitsFor: string;
      readonly retryMs: number;
      /** Null if that is not known. */
      readonly resetsInMs: number | null;
    };

export interface LineServing {
  readonly gateway: Gateway;
  routeAt(path: string): ServedRoute | null;
  answer(exchange: Exchange, route: ServedRoute): Promise<Response>;
}

/** Runs a line as a request like any other. What it was charged for is stored by then, and it is not charged again. */
export async function runLine(
  serving: LineServing,
  batch: OpenBatch,
  line: ClaimedLine,
  provider: LineAtProviderParts = {},
): Promise<LineOutcome> {
  const { gateway } = serving;
  const { batches } = gateway.configured.settings;
  const route = serving.routeAt(batch.path);
  const body = await batch.input.range(line.start, line.length);
  const stopped = provider.returned === undefined ? givenUp(line) : null;
  if (route === null || body === null || stopped !== null) {
    const message = stopped ?? "The request cannot be read any more.";
    return (await charged(gateway, batch, line, null)) ?? failed(gateway, batch, line, message, route);
  }
  const { keyId, request } = batch;
  const call = new DetachedCall({
    ...{ route, keyId, body, origin: new LineOrigin({ batchId: batch.id, no: line.no }, provider) },
    call: { path: route.path, address: request.address, headers: headersOf(request, line) },
  });
  const exchange = new Exchange(call, gateway);
  exchange.timeoutMs = batches.requestTimeoutMs;
  const response = await serving.answer(exchange, route);
  // The response is not read: it is stored.
  call.source?.cancel();
  if (provider.sender?.hasTaken === true) return { kind: "left" };
  return outcomeOf(gateway, batch, line, exchange, response);
}

/** Why a line is not run any more; null if it is. */
function givenUp({ crashes, cancellations }: ClaimedLine): string | null {
  if (crashes >= maxCrashes) return "The gateway stopped three times while it ran this request.";
  return cancellations > maxCancelled
    ? "The provider's batch with this request was cancelled four times."
    : null;
}

/** What the create had, for a JSON body that is charged once. */
function headersOf({ headers }: Pick<BatchRequest, "headers">, { no }: ClaimedLine): BatchRequest["headers"] {
  const ofLine = { "content-type": "application/json", "idempotency-key": String(no) };
  return Object.entries({ ...Object.fromEntries(headers), ...ofLine });
}

async function outcomeOf(
  gateway: Gateway,
  batch: OpenBatch,
  line: ClaimedLine,
  exchange: Exchange,
  response: Response,
): Promise<LineOutcome> {
  const { ended, charge, isReplay, attempts } = exchange;
  const error = ended?.error instanceof GatewayError ? ended.error : null;
  // A charge that could not be confirmed is there, or it is not: then it runs again.
  if (response.status === 200 || isReplay || charge !== null || error?.code === "idempotency_conflict") {
    const found = await charged(gateway, batch, line, exchange);
    return found ?? { kind: "again", afterMs: 1000, hasReached: attempts.count > 0, cause: null };
  }
  if (exchange.endedBy !== null || mayNotRun(gateway, batch, exchange)) {
    return { kind: "again", afterMs: 0, hasReached: false, cause: null };
  }
  const waiting = error && waitOf(error, error instanceof WaitsForProvider);
  if (waiting !== null) return waiting;
  const hasReached = attempts.count > 0;
  const afterMs = error?.retryAfterSeconds === undefined ? null : error.retryAfterSeconds * 1000;
  if (error !== null && busyCodes.has(error.code)) {
    const isOwnLimit = error.code === "rate_limit_exceeded" && !hasReached;
    return { kind: "again", afterMs, hasReached: false, cause: isOwnLimit ? "limit" : "busy" };
  }
  if (error !== null && brokenCodes.has(error.code) && line.tries + 1 < maxTries) {
    return { kind: "again", afterMs, hasReached, cause: "failed" };
  }
  const body = await response.bytes();
  const own = { status: response.status, requestId: exchange.id, body };
  // An earlier run may have been charged, and its model removed since.
  return (await charged(gateway, batch, line, exchange)) ?? uncharged(gateway, batch, line, own);
}

/** Its key cannot be used now. What has run at a provider ends all the same: the key may never be active again. */
function mayNotRun(gateway: Gateway, { keyId }: OpenBatch, { call: { origin } }: Exchange): boolean {
  const key = gateway.keys.byId(keyId);
  const isActive = key !== null && effectiveStatus(key, gateway.clock.wallMs()) === "active";
  if (isActive || origin.earlier === null) return !isActive;
  return origin.earlier.hold === null && key !== null && key.status !== "revoked";
}

/** The provider or the gateway has too much to do. */
const busyCodes: ReadonlySet<ErrorCode> = new Set([
  "service_unavailable",
  "rate_limit_exceeded",
  "idempotency_in_flight",
]);
/** The provider has failed, and may do better. */
const brokenCodes: ReadonlySet<ErrorCode> = new Set([
  "provider_unavailable",
  "upstream_error",
  "upstream_timeout",
]);

/** How soon a batch without money looks again, if nothing wakes it. */
const fundsRetryMs = 60_000;

function waitOf(
  { code, denied, retryAfterSeconds = 1 }: GatewayError,
  isForProvider: boolean,
): LineOutcome | null {
  const waitsFor = isForProvider ? "provider" : (denied?.bound ?? "balance");
  const retryMs = Math.min(retryAfterSeconds * 1000, fundsRetryMs);
  switch (code) {
    case "insufficient_credit":
      return { kind: "wait", waitsFor, retryMs: fundsRetryMs, resetsInMs: null };
    case "balance_temporarily_reserved":
      return { kind: "wait", waitsFor, retryMs, resetsInMs: null };
    case "limit_reached":
      return { kind: "wait", waitsFor, retryMs, resetsInMs: retryAfterSeconds * 1000 };
    default:
      return null;
  }
}

/** The end of a line whose response was stored with its charge; null if none was. */
async function charged(
  { batches: { store }, configured }: Gateway,
  batch: OpenBatch,
  line: ClaimedLine,
  exchange: Exchange | null,
): Promise<LineOutcome | null> {
  const found = await store.batches.charged(batch.id, line.no);
  if (found === null) return null;
  const { status, requestId } = found;
  const name = nameOfResult({ batchId: batch.id, no: line.no });
  const { encryptionKey } = configured.settings.responses;
  const stored = await store.batches.whole(found);
  const body = stored && (await openBody(name, stored, encryptionKey));
  const shown = { ...line, status, requestId };
  const bytes = lineLength(batch.shown, shown, body ?? new Uint8Array(), encryptionKey);
  const facts =
    exchange !== null && exchange.id === requestId && exchange.charge !== null
      ? { charged: exchange.charged, ...tokensOf(exchange.charge.usage) }
      : await chargeOf(store.reports, requestId);
  return { kind: "ended", end: { status, requestId, error: null, bytes, ...facts } };
}

/** What an earlier run was charged, as the ledger has it. */
async function chargeOf(
  reports: Pick<Reports, "exchange">,
  requestId: string,
): Promise<Pick<LineEnd, "charged"> & BatchTokens> {
  const { exchange = null, entries = [] } = (await reports.exchange(requestId, null)) ?? {};
  const charged = entries.reduce((sum, { amount }) => sum + Math.max(0, -amount), 0);
  return { charged, ...(exchange?.usage == null ? noTokens : tokensOf(exchange.usage)) };
}

function tokensOf(usage: Usage): BatchTokens {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return {
    inputTokens: inputTokens + cachedInputTokens + cacheWriteTokens,
    cachedTokens: cachedInputTokens,
    outputTokens,
    reasoningTokens,
  };
}

const noTokens: BatchTokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function failed(
  gateway: Gateway,
  batch: OpenBatch,
  line: ClaimedLine,
  message: string,
  route: ServedRoute | null,
): LineOutcome {
  const error = new GatewayError("internal_error", message);
  const { body, status } = renderError(route?.errors ?? plainErrors, error, "");
  return uncharged(gateway, batch, line, { status, requestId: "", body: Buffer.from(body) });
}

/** The end of a line that was not charged. */
function uncharged(
  { configured }: Gateway,
  batch: OpenBatch,
  line: ClaimedLine,
  {
    status,
    requestId,
    body,
  }: { readonly status: number; readonly requestId: string; readonly body: Uint8Array },
): LineOutcome {
  const { encryptionKey } = configured.settings.responses;
  const error = Buffer.concat([...bodyPieces(nameOfError(batch.id, line.no), [body], encryptionKey)]);
  const bytes = lineLength(batch.shown, { ...line, status, requestId }, body, encryptionKey);
  return { kind: "ended", end: { status, requestId, error, bytes, charged: 0, ...noTokens } };
}
