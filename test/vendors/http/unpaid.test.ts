import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { errorIn200, errorStatus } from "../../../src/upstream/failure.ts";
import { createProvider } from "../../../src/vendors/registry.ts";
import { providerSettings } from "../../upstream/fixtures.ts";

type Kind = "openai" | "anthropic" | "azure" | "openai-compatible";

const providers = {
  openai: createProvider(providerSettings({ kind: "openai" })),
  anthropic: createProvider(providerSettings({ kind: "anthropic", dialects: ["messages"] })),
  azure: createProvider(providerSettings({ kind: "azure" })),
  "openai-compatible": createProvider(providerSettings({ kind: "openai-compatible" })),
};

function failureOf(kind: Kind, status: number, body: JsonObject, headers: Record<string, string> = {}) {
  const head = { status, get: (name: string) => new Headers(headers).get(name) };
  const text = JSON.stringify(body);
  const refusal = providers[kind].readProviderError({ head, text, receivedAtMs: 0 });
  return errorStatus(status, refusal, "chat", "chat", text);
}

const openAi = (message: string, code: string, type = code) => ({ error: { message, type, code } });
const anthropic = (message: string) => ({
  type: "error",
  error: { type: "invalid_request_error", message },
  request_id: "req_011",
});

const unpaid: readonly [who: string, kind: Kind, status: number, body: JsonObject][] = [
  [
    "Anthropic without credit",
    "anthropic",
    400,
    anthropic(
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
  ],
  [
    "Anthropic at the limit of the month",
    "anthropic",
    400,
    anthropic(
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    ),
  ],
  [
    "Anthropic, and the workspace's limit",
    "anthropic",
    400,
    anthropic(
      "You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    ),
  ],
  [
    "Anthropic, and a closed organization",
    "anthropic",
    400,
    anthropic("This organization has been disabled."),
  ],
  [
    "OpenAI without credit",
    "openai",
    429,
    openAi(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
    ),
  ],
  [
    "OpenAI, and a closed account",
    "openai",
    429,
    openAi(
      "Your account is not active, please check your billing details on our website.",
      "billing_not_active",
    ),
  ],
  [
    "OpenAI at its hard limit",
    "openai",
    400,
    openAi("Billing hard limit has been reached.", "billing_hard_limit_reached", "invalid_request_error"),
  ],
  ["Azure", "azure", 429, openAi("You exceeded your current quota.", "insufficient_quota")],
  [
    "xAI",
    "openai-compatible",
    429,
    {
      code: "Some resource has been exhausted",
      error:
        "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit.",
    },
  ],
  [
    "Moonshot",
    "openai-compatible",
    429,
    {
      error: {
        message: "Your account is suspended, please check your plan and billing details",
        type: "exceeded_current_quota_error",
      },
    },
  ],
  [
    "Qwen",
    "openai-compatible",
    400,
    openAi("Access denied, please make sure your account is in good standing.", "Arrearage"),
  ],
  [
    "Zhipu",
    "openai-compatible",
    429,
    { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } },
  ],
  [
    "DeepSeek",
    "openai-compatible",
    402,
    { error: { message: "Insufficient Balance", code: "invalid_request_error" } },
  ],
];

describe("an account that nobody pays for is the operator's affair, whatever the status", () => {
  test.each([...unpaid])("%s", (_who, kind, status, body) => {
    const failure = failureOf(kind, status, body);
    expect(failure).toMatchObject({
      alarm: true,
      mayTryOtherDeployments: true,
      mayRetry: false,
      keyProblem: "rejected",
      evidence: "provider",
    });
    expect(failure.error).toMatchObject({ status: 502, code: "upstream_error" });
    // The client learns nothing of the account.
    expect(failure.error.message).toBe(
      "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
    );
  });

  test.each<[string, Kind, number, JsonObject, Record<string, string>]>([
    [
      "Azure's quota of the minute",
      "azure",
      429,
      openAi("You exceeded your current quota.", "insufficient_quota"),
      { "retry-after": "6" },
    ],
    [
      "Google's quota of the minute, by OpenAI's API",
      "openai-compatible",
      429,
      {
        error: {
          code: 429,
          message: "You exceeded your current quota, please check your plan and billing details.",
          status: "RESOURCE_EXHAUSTED",
        },
      },
      {},
    ],
  ])("%s passes by itself", (_who, kind, status, body, headers) => {
    expect(failureOf(kind, status, body, headers)).toMatchObject({
      alarm: false,
      keyProblem: "throttled",
      error: { code: "service_unavailable" },
    });
  });

  test("a message that only quotes such words is about the request", () => {
    const body = anthropic("messages.0.content: Your credit balance is too low is no content block");
    expect(failureOf("anthropic", 400, body)).toMatchObject({
      alarm: false,
      error: { code: "invalid_request" },
    });
  });
});

test("so is one that a stream, or an answer with status 200, says this of", () => {
  for (const body of [
    openAi("You exceeded your current quota.", "insufficient_quota"),
    anthropic("Your credit balance is too low to access the Anthropic API."),
  ]) {
    const failure = errorIn200(body, "messages");
    expect(failure).toMatchObject({
      alarm: true,
      kind: "billing",
      keyProblem: "rejected",
      mayTryOtherDeployments: true,
    });
    expect(failure.error).toMatchObject({
      code: "upstream_error",
      message:
        "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
    });
  }
});
