import { noUsage } from "../../src/base/usage/usage.ts";
import type { ExchangeFacts } from "../../src/observe/exchange.ts";

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
    ...overrides,
  };
}

/** Notes what happens to spans. */
export function spanEvents() {
  const events = {
    contentDropped: 0,
    spansDropped: 0,
    troubles: [] as string[],
    onContentDropped: () => {
      events.contentDropped += 1;
    },
    onSpansDropped: (count: number) => {
      events.spansDropped += count;
    },
    onTrouble: (reason: string) => {
      events.troubles.push(reason);
    },
  };
  return events;
}
