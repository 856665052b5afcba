import type { AttemptRecord } from "../../src/base/requests/attempt.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import type { ExchangeFacts } from "../../src/observe/exchange.ts";
import type { Gauges } from "../../src/observe/metrics-gauges.ts";

/** An exchange that went well, for a credit key. */
export function exchangeFacts(overrides: Partial<ExchangeFacts> = {}): ExchangeFacts {
  return {
    requestId: "req_1",
    callerRequestId: null,
    method: "POST",
    route: "/v1/chat/completions",
    mode: "credit",
    tracedAs: "chat",
    atMs: Date.UTC(2026, 10, 15, 12),
    endedAtMs: Date.UTC(2026, 10, 15, 12, 0, 1),
    keyId: "key_1",
    keyPrefix: "slu_12345678",
    address: null,
    model: "house-model",
    steppedDownFrom: null,
    provider: "openai",
    deployment: "openai/gpt-5.6",
    stream: true,
    status: 200,
    outcome: "completed",
    errorCode: null,
    cause: null,
    usage: { ...noUsage, inputTokens: 100, cachedInputTokens: 20, outputTokens: 30 },
    basis: "measured",
    charged: 2_500_000_000,
    listCostNano: null,
    firstByteMs: 40,
    totalMs: 900,
    attempts: 1,
    failedAttempts: [],
    trace: null,
    traced: null,
    ...overrides,
  };
}

/** Notes what happens to spans. */
export function spanEvents() {
  const events = {
    contentDropped: 0,
    spansDropped: 0,
    problems: [] as string[],
    onContentDropped: () => {
      events.contentDropped += 1;
    },
    onSpansDropped: (count: number) => {
      events.spansDropped += count;
    },
    onProblem: (reason: string) => {
      events.problems.push(reason);
    },
  };
  return events;
}

/** What a scrape reads, with a value for each. */
export const gauges: Gauges = {
  inFlight: 3,
  backgroundInFlight: 2,
  batches: {
    states: { running: 1, waiting: 1, paused: 0 },
    waitingLines: 40,
    runningLines: 8,
    oldestSeconds: 60,
    ended: { completed: 12, failed: 1 },
    reruns: 2,
    unknownResults: 1,
  },
  version: "1.2.3",
  startedAtMs: 1_800_000_000_500,
  providers: ["openai", "a"],
  ready: true,
  requestLogDropped: 0,
  droppedContent: 0,
  droppedSpans: 0,
  feed: { lagEntries: 40, lagSeconds: 2.5, posts: { accepted: 7, rejected: 1, failed: 0 } },
  heldCredits: 1.5,
  heldTokens: 200,
  overrunCredits: 0.25,
  overrunTokens: 7,
  eventLoopLagMs: 12,
  residentBytes: 1000,
  journal: { batches: 4, items: 9, failedBatches: 0, lastBatchItems: 2, lastBatchMs: 0.5, pendingItems: 1 },
  activeAlerts: [
    { kind: "cap_threshold", provider: null, count: 3 },
    { kind: "provider_auth", provider: "openai", count: 1 },
  ],
  accounts: [],
  breakers: [{ deployment: "openai/gpt-5.6", state: "open", inFlight: 2 }],
};

/** A call that the provider rejected for its credentials. */
export const rejectedAttempt: AttemptRecord = {
  deployment: "openai/m",
  provider: "openai",
  upstreamModel: "m",
  status: 401,
  code: "upstream_error",
  failure: "status_401",
  cause: null,
  said: null,
  durationMs: 1,
  left: "ended",
};
