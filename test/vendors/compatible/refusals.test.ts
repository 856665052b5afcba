import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { errorStatus } from "../../../src/upstream/failure.ts";
import { createProvider } from "../../../src/vendors/registry.ts";
import { providerSettings } from "../../upstream/fixtures.ts";

const provider = createProvider(providerSettings({ kind: "openai-compatible" }));

/** What becomes of a server's refusal. */
function failureOf(status: number, body: JsonObject | string, headers: Record<string, string> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const head = { status, get: (name: string) => new Headers(headers).get(name) };
  return errorStatus(
    status,
    provider.readProviderError({ head, text, receivedAtMs: 0 }),
    "chat",
    "chat",
    text,
  );
}

describe("refusals", () => {
  test("Groq's unreadable call is the model's fault, and is tried again (Q02)", () => {
    const body = {
      error: {
        message: "Failed to call a function.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: "<x>",
      },
    };
    expect(failureOf(400, body)).toMatchObject({
      mayRetry: true,
      mayTryOtherDeployments: true,
      evidence: null,
      alarm: false,
    });
  });

  test("if it is unreadable again, the client is told in Groq's words, and what the model wrote (Q02)", () => {
    const message =
      "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.";
    const failed_generation = '<function=look{"q": "fog"}</function>';
    const error = { message, type: "invalid_request_error", code: "tool_use_failed", failed_generation };
    const told = failureOf(400, { error }).error;
    expect(told).toMatchObject({ status: 502, code: "upstream_error", vendor: { code: "tool_use_failed" } });
    expect(told.message).toBe(`${message} failed_generation: ${failed_generation}`);
  });

  test("Groq's 413 is its limit of tokens per minute, and 498 its lack of capacity (Q02)", () => {
    const body = { error: { message: "Request too large", type: "tokens", code: "rate_limit_exceeded" } };
    const headers = { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s" };
    expect(failureOf(413, body, headers)).toMatchObject({ coolDownMs: 7660, keyProblem: "throttled" });
    expect(failureOf(413, { error: { message: "Payload too large" } })).toMatchObject({ coolDownMs: null });
    expect(failureOf(498, { error: { message: "flex" } })).toMatchObject({ coolDownMs: 0, keyProblem: null });
    expect(failureOf(429, body, { ...headers, "x-ratelimit-reset-tokens": "2m0.5s" })).toMatchObject({
      coolDownMs: 120_500,
    });
    expect(failureOf(429, body, { ...headers, "retry-after": "3" })).toMatchObject({ coolDownMs: 3000 });
  });

  test("DeepSeek's and OpenRouter's 402 is the operator's balance (Q03)", () => {
    expect(failureOf(402, { error: { message: "Insufficient Balance" } })).toMatchObject({
      alarm: true,
      keyProblem: "rejected",
    });
  });

  test("Mistral's errors are told in its own words (Q04)", () => {
    const detail = [{ loc: ["body", "user"], msg: "Extra inputs are not permitted" }];
    expect(
      failureOf(422, { object: "error", message: { detail }, type: "invalid_request_error", code: "3051" })
        .error.message,
    ).toBe("body.user: Extra inputs are not permitted");
  });

  test("a prompt that OpenRouter flags is the client's affair, and other 403s are not (Q06)", () => {
    const flagged = {
      error: { code: 403, message: "Input was flagged", metadata: { reasons: ["violence"] } },
    };
    expect(failureOf(403, flagged)).toMatchObject({ alarm: false, error: { code: "invalid_request" } });
    expect(failureOf(403, { error: { message: "No access" } })).toMatchObject({ alarm: true });
  });

  test("vLLM without its options for tools is the operator's mistake (Q09)", () => {
    const message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set';
    expect(failureOf(400, { object: "error", message, code: 400 })).toMatchObject({
      alarm: true,
      error: { code: "upstream_error" },
    });
  });

  test("llama.cpp is busy while it loads, and names an overflow by its type (Q12)", () => {
    expect(
      failureOf(503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }),
    ).toMatchObject({
      error: { code: "service_unavailable" },
    });
    const overflow = {
      code: 400,
      message: "the request is too large",
      type: "exceed_context_size_error",
      n_prompt_tokens: 9000,
      n_ctx: 4096,
    };
    expect(failureOf(400, { error: overflow })).toMatchObject({ error: { code: "context_length_exceeded" } });
  });

  test("a plan that does not allow the model is the operator's affair (Q16)", () => {
    for (const status of [401, 403]) {
      expect(
        failureOf(status, { error: { message: "Your plan does not include this model" } }),
      ).toMatchObject({ alarm: true, error: { code: "upstream_error" } });
    }
  });
});
