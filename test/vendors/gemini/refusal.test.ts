import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { readTokenLimit } from "../../../src/dialects/errors/error-body.ts";
import { errorStatus } from "../../../src/upstream/failure.ts";
import { adviseOnGemini } from "../../../src/vendors/gemini/index.ts";
import { readGoogleError } from "../../../src/vendors/google/provider-error.ts";
import { bytesOf } from "../../support/answers.ts";
import { googleError, keyRefused } from "./fake-gemini.ts";

/** Noon in California. */
const noonMs = Date.parse("2026-11-15T20:00:00Z");

function answerOf(answer: ReturnType<typeof googleError>, headers: Record<string, string> = {}) {
  const given = new Map(Object.entries({ ...answer.headers, ...headers }));
  const head = { status: answer.status, get: (name: string) => given.get(name) ?? null };
  const text = new TextDecoder().decode(bytesOf(answer));
  // As much of a head as is read.
  return { head: head as Parameters<typeof readGoogleError>[0]["head"], text, receivedAtMs: noonMs };
}

function failureOf(answer: ReturnType<typeof googleError>, headers: Record<string, string> = {}) {
  const given = answerOf(answer, headers);
  const refusal = readGoogleError(given);
  const failure = errorStatus(answer.status, refusal, "messages", "gemini", given.text);
  return { ...failure, retryAfterMs: refusal.retryAfterMs };
}

const retryInfo = (retryDelay: string): JsonObject => ({
  "@type": "type.googleapis.com/google.rpc.RetryInfo",
  retryDelay,
});

const quota = (quotaId: string): JsonObject => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaMetric: "generate_content_requests", quotaId, quotaValue: "250" }],
});

describe("what Google's refusals mean", () => {
  test("an invalid argument is the client's, in Google's words without the project's name (G61)", () => {
    const { error, mayTryOtherDeployments, alarm, evidence } = failureOf(
      googleError(400, "INVALID_ARGUMENT", "Unknown field in projects/canary-project-1/locations/us."),
    );
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({
      code: "invalid_request",
      message: "Unknown field in projects/[account]/locations/us.",
    });
    expect({ mayTryOtherDeployments, alarm, evidence }).toEqual({
      mayTryOtherDeployments: false,
      alarm: false,
      evidence: null,
    });
  });

  test.each([
    ["400 with the reason API_KEY_INVALID", keyRefused(400)],
    [
      "400 of an expired key",
      googleError(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
    ],
    ["401", googleError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")],
    [
      "403",
      googleError(
        403,
        "PERMISSION_DENIED",
        "Generative Language API has not been used in project 123456789.",
      ),
    ],
  ])("G62: %s is the key's fault, which is another's turn and an alarm", (_, answer) => {
    const failure = failureOf(answer);
    expect(failure).toMatchObject({ keyProblem: "rejected", alarm: true, mayTryOtherDeployments: true });
    expect(failure.error.code).toBe("upstream_error");
    expect(failure.error.message).not.toContain("API");
    expect(failure.providerMessage).not.toContain("123456789");
  });

  test("a location that is not supported is the account's affair: an alarm, and elsewhere it may work (G63)", () => {
    const message = "User location is not supported for the API use.";
    const failure = failureOf(googleError(400, "FAILED_PRECONDITION", message));
    expect(failure).toMatchObject({ keyProblem: null, alarm: true, mayTryOtherDeployments: true });
    expect(failure.error.code).toBe("upstream_error");
  });

  test("too much input is an overflow with both numbers (G64)", () => {
    const message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    const answer = googleError(400, "INVALID_ARGUMENT", message);
    const { error } = failureOf(answer);
    expect(error.code).toBe("context_length_exceeded");
    expect(readTokenLimit(error.message)).toEqual({ needed: 1_200_000, maximum: 1_048_576 });
  });

  test("a model that is not found is an alarm, and not the key's fault (G65)", () => {
    const failure = failureOf(googleError(404, "NOT_FOUND", "models/nobody is not found."));
    expect(failure).toMatchObject({ keyProblem: null, alarm: true, mayTryOtherDeployments: true });
  });

  test.each([
    ["the details", [retryInfo("34.4s")], {}, 34_400],
    ["the details in milliseconds", [retryInfo("900ms")], { "retry-after": "7" }, 900],
    ["the header where the details are silent", [quota("PerMinute")], { "retry-after": "7" }, 7000],
    ["nothing", [], {}, null],
    ["the details, which make no sense", [retryInfo("soon")], {}, null],
  ] as const)("G66: how long to wait is said by %s", (_, details, headers, waitMs) => {
    const failure = failureOf(
      googleError(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", [...details]),
      headers,
    );
    expect(failure).toMatchObject({ keyProblem: "throttled", retryAfterMs: waitMs, quotaResetMs: null });
    expect(failure.error.retryAfterSeconds).toBe(Math.max(1, Math.ceil((waitMs ?? 1000) / 1000)));
  });

  test("a quota of the day rests the key until midnight in California (G66)", () => {
    const details = [quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retryInfo("2s")];
    const failure = failureOf(googleError(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", details));
    expect(failure).toMatchObject({ quotaResetMs: 12 * 3_600_000, retryAfterMs: 12 * 3_600_000 });
  });

  test("problem is retried, overload waits, and what took too long is not asked again (G67)", () => {
    expect(failureOf(googleError(500, "INTERNAL", "Internal error."))).toMatchObject({
      mayRetry: true,
      mayTryOtherDeployments: true,
    });
    expect(failureOf(googleError(503, "UNAVAILABLE", "Overloaded."))).toMatchObject({
      coolDownMs: 0,
      keyProblem: null,
    });
    const slow = failureOf(googleError(504, "DEADLINE_EXCEEDED", "The prompt is too large."));
    expect(slow).toMatchObject({ mayRetry: false, mayTryOtherDeployments: false });
    expect(slow.error.code).toBe("upstream_timeout");
    expect(failureOf(googleError(499, "CANCELLED", "Cancelled."))).toMatchObject({
      mayRetry: false,
      evidence: null,
    });
  });

  test("an error in a list of one is an error", () => {
    const whole = answerOf(keyRefused(400));
    expect(readGoogleError({ ...whole, text: `[${whole.text}]` }).about).toBe("credential");
    expect(readGoogleError({ ...whole, text: "<html>" }).about).toBeUndefined();
  });
});

test.each([
  ["a bad key", keyRefused(400), /rejects the API key/],
  [
    "a place where Google does not serve",
    googleError(400, "FAILED_PRECONDITION", "Location."),
    /location and billing/,
  ],
  ["a used-up day", googleError(429, "RESOURCE_EXHAUSTED", "Quota.", [quota("PerDay")]), /resets in 12 h/],
  [
    "an API that is not enabled",
    googleError(403, "PERMISSION_DENIED", "Disabled."),
    /enabled in its project/,
  ],
  [
    "a wrong name",
    googleError(404, "NOT_FOUND", "Not found."),
    /model "gemini-4" does not exist for this key/,
  ],
])("`models check` says what to do about %s", (_, answer, advice) => {
  expect(adviseOnGemini(answerOf(answer), "gemini-4")).toMatch(advice);
});

test("`models check` leaves other refusals to the usual advice", () => {
  expect(adviseOnGemini(answerOf(googleError(500, "INTERNAL", "StoreProblem.")), "gemini-4")).toBeNull();
});
