import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { unknownModelIn } from "../../base/models/unknown-model.ts";
import { tokensOf } from "../../base/money/rates.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import { noAttemptCounts } from "../../store/attempt-sums.ts";
import type { Outcome, OutcomeRecord, RequestOutcome, UsageRecord } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import { endContent } from "./content.ts";
import { describeCause, errorCode, publicMessage } from "./describe-error.ts";
import type { ChargeFacts, Exchange, ExchangeEnd, PlaygroundShare } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { tracedFacts } from "./traced-facts.ts";

/**
 * The only place where an exchange ends, for any reason: releases everything it holds, notifies the observers, and
 * records why it did not complete. Only the first call counts.
 */
export function endExchange(gateway: Gateway, exchange: Exchange, end: ExchangeEnd): void {
  if (exchange.ended !== null) return;
  exchange.ended = end;
  exchange.early?.over?.(end);
  try {
    giveBack(gateway, exchange, end.outcome);
  } finally {
    // The span waits for what was recorded.
    if (exchange.taken.content !== null) endContent(gateway, exchange, end);
    report(gateway, exchange, end);
  }
}

/** Steps that cannot fail come first. */
function giveBack(gateway: Gateway, exchange: Exchange, outcome: ExchangeEnd["outcome"]): void {
  const { key, pump, taken } = exchange;
  const { claim, conversationClaim, recorder, hold, answer, memory, download, formSlot } = taken;
  if (pump !== null) gateway.watchdog.forget(pump);
  if (key !== null) gateway.ongoing.leave(exchange, key.id);
  if (claim !== null) gateway.claims.end(claim);
  if (conversationClaim !== null) gateway.claims.end(conversationClaim);
  recorder?.discard();
  memory?.release();
  download?.release();
  formSlot?.release();
  // Does nothing to a hold that was settled. A charge that could not be made must not keep its hold.
  if (hold !== null) gateway.accounts.release(hold);
  if (taken.playground !== null) giveBackShare(gateway, exchange, taken.playground);
  correctTokens(gateway, exchange);
  if (answer !== null) endResponse(answer, exchange, outcome);
  assert(outcome !== "completed" || hold === null || hold.state === "settled", "completed without a charge");
}

/** Returns the uncharged part. A charge in progress keeps all of it. */
function giveBackShare({ playground }: Gateway, { taken, charge }: Exchange, share: PlaygroundShare): void {
  const isCharged = taken.hold?.state === "settled";
  const used = isCharged && charge === null ? share.taken : (taken.hold?.charged ?? 0);
  if (share.taken <= used) return;
  // If it fails, the secret can spend less in its hour.
  playground.giveBack(share.hash, share.taken - used).catch(() => {});
}

/** Frees the provider's place. Its breaker counts a failure only where neither the client nor the gateway left. */
function endResponse(answer: OpenedCall, { endedBy }: Exchange, outcome: ExchangeEnd["outcome"]): void {
  if (outcome === "completed") {
    answer.finished("completed");
    return;
  }
  answer.abort();
  answer.finished(outcome === "cancelled" || endedBy !== null ? "cancelled" : "failed");
}

/** Only for an exchange that is stored: one that was charged, or did not complete. */
function keepCallerId(
  gateway: Gateway,
  exchange: Exchange,
  callerId: string | null,
  outcome: ExchangeEnd["outcome"],
): void {
  const { id, key, atMs, call } = exchange;
  if (key === null || callerId === null || outcome === "replayed") return;
  if (outcome === "completed" && !call.route.isCharged) return;
  gateway.callerIds.take({ callerId, exchangeId: id, atMs });
}

function report(gateway: Gateway, exchange: Exchange, { status, outcome, error }: ExchangeEnd): void {
  const facts = factsOf(exchange, status, outcome, error);
  gateway.observe(facts);
  keepCallerId(gateway, exchange, facts.callerRequestId, outcome);
  const isExplained = outcome === "completed" || outcome === "replayed" || exchange.isOutcomeRecorded;
  if (isExplained || exchange.key === null) return;
  // A charge that is still on its way takes its attempts with it.
  const attempts = exchange.taken.hold?.state === "settled" ? noAttemptCounts : exchange.attempts.uncharged();
  gateway.requestLog.take(outcomeRecordOf(exchange, outcome, status, error), attempts);
}

/** Returns unused rate tokens once the exchange has ended. What was charged counts as used, and the input of an abandoned request. */
function correctTokens({ rateLimits }: Gateway, exchange: Exchange): void {
  const { taken, charge, abandonedTokens } = exchange;
  const { reservedTokens, hold } = taken;
  if (reservedTokens === null || !reservedTokens.verdict.allowed) return;
  const { buckets, amount } = reservedTokens;
  const used = hold?.state === "settled" && charge !== null ? tokensOf(charge.quantities) : abandonedTokens;
  rateLimits.correct(buckets, amount - used);
}

/** For reports; the ledger fills in the cost when it charges. */
export function usageRecordOf(
  exchange: Exchange,
  outcome: Outcome,
  status: number,
  { usage, basis }: ChargeFacts,
): UsageRecord {
  return { ...recorded(exchange, status), atMs: exchange.atMs, outcome, usage, basis, costNano: 0 };
}

/** Why it ended as it did, for operators. A client that disconnected was sent no error. */
export function outcomeRecordOf(
  exchange: Exchange,
  outcome: RequestOutcome,
  status: number,
  thrown: unknown,
): OutcomeRecord {
  const error = outcome === "cancelled" ? null : thrown;
  const denied = error instanceof GatewayError ? error.denied : undefined;
  return {
    ...recorded(exchange, status),
    atMs: exchange.clock.wallMs(),
    startedAtMs: exchange.atMs,
    outcome,
    code: error === null ? null : errorCode(error),
    message: error === null ? null : keptMessage(exchange, error),
    attemptDetails: exchange.attempts
      .records(error)
      .map((attempt) =>
        attempt.said === null ? attempt : { ...attempt, said: exchange.redactRequestText(attempt.said) },
      ),
    alike: 0,
    labels: exchange.labels,
    bound: denied?.bound ?? null,
    needed: denied?.needed ?? null,
  };
}

/** The fields that a usage record and an outcome record share. */
function recorded(exchange: Exchange, status: number) {
  const { key, stream, firstByteMs } = exchange;
  const { deployment, count } = exchange.attempts;
  assert(key !== null, "an exchange is recorded under its key");
  return {
    exchangeId: exchange.id,
    keyId: key.id,
    route: exchange.call.route.path,
    model: exchange.runningModel?.id ?? "",
    provider: deployment?.provider.settings.name ?? "",
    upstreamModel: deployment?.shownModel ?? "",
    stream,
    status,
    firstByteMs,
    totalMs: exchange.elapsedMs(),
    attempts: count,
  };
}

/** An unknown model is stored with its name: the operator needs it, and the message has nothing else of the request. */
function keptMessage(exchange: Exchange, error: unknown): string {
  const message = publicMessage(error);
  return unknownModelIn(message) === null ? exchange.redactRequestText(message) : message;
}

/** A client that disconnected was sent no error, and is most often its cause: the body or the response broke off. */
export function factsOf(exchange: Exchange, status: number, outcome: string, error: unknown): ExchangeFacts {
  const { attempts, charge } = exchange;
  const { deployment } = attempts;
  return {
    requestId: exchange.id,
    callerRequestId: exchange.callerId,
    method: exchange.call.route.method,
    route: exchange.call.route.path,
    mode: exchange.key?.mode ?? exchange.call.route.mode,
    tracedAs: exchange.tracedAs ?? exchange.call.route.tracedAs,
    atMs: exchange.atMs,
    endedAtMs: exchange.clock.wallMs(),
    keyId: exchange.key?.id ?? null,
    keyPrefix: exchange.key?.prefix ?? null,
    address: exchange.key === null ? exchange.call.address : null,
    model: exchange.runningModel?.id ?? null,
    steppedDownFrom: exchange.steppedDown?.from.id ?? null,
    isUnlistedModel: exchange.runningModel?.isUnlisted,
    provider: deployment?.provider.settings.name ?? null,
    deployment: deployment?.name ?? null,
    stream: exchange.stream,
    status,
    outcome,
    errorCode: error === null || outcome === "cancelled" ? null : errorCode(error),
    cause: error === null ? null : describeCause(error),
    usage: charge?.usage ?? null,
    basis: charge?.basis ?? null,
    charged: exchange.charged,
    listCostNano: charge?.listCostNano ?? null,
    firstByteMs: exchange.firstByteMs,
    totalMs: exchange.elapsedMs(),
    attempts: attempts.count,
    failedAttempts: attempts.failed,
    trace: exchange.trace,
    // Most gateways trace nothing, so nothing is computed for a span then.
    traced: exchange.trace === null || exchange.trace.spanId === null ? null : tracedFacts(exchange),
  };
}
