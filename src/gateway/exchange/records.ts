import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { unknownModelIn } from "../../base/models/unknown-model.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import type { Outcome, OutcomeRecord, RequestOutcome, UsageRecord } from "../../store/store.ts";
import { describeCause, errorCode, publicMessage } from "./describe-error.ts";
import type { ChargeFacts, Exchange } from "./exchange.ts";
import { tracedFacts } from "./traced-facts.ts";

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
    tracedAs: exchange.call.route.tracedAs,
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
