import { describe, expect, test } from "bun:test";
import { type ErrorCode, GatewayError } from "../../../src/base/errors.ts";
import { renderError } from "../../../src/dialects/errors/envelope.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";

const { errorFormat: openAi } = clientDialect("chat");
const { errorFormat: anthropic } = clientDialect("messages");

const unknown = {
  sequenceNumber: 0,
  responseId: "resp_failed",
  model: "",
  createdAtSeconds: 0,
  hasBegun: false,
  usage: null,
};

function inBand(dialect: BodyDialectName, error: GatewayError, position = unknown): string {
  return clientDialect(dialect).inBandError(error, "req_1", position);
}

/** Interface 7.1 and 7.2: the status, Format A's type, Format B's type, and whether to try again. */
const table: readonly [ErrorCode, number, string, string, boolean][] = [
  ["invalid_credentials", 401, "authentication_error", "authentication_error", false],
  ["key_expired", 403, "permission_error", "permission_error", false],
  ["key_disabled", 403, "permission_error", "permission_error", false],
  ["rate_limit_exceeded", 429, "rate_limit_error", "rate_limit_error", true],
  ["balance_temporarily_reserved", 429, "rate_limit_error", "rate_limit_error", true],
  ["limit_reached", 429, "quota_error", "rate_limit_error", false],
  ["insufficient_credit", 402, "quota_error", "billing_error", false],
  ["invalid_request", 400, "invalid_request_error", "invalid_request_error", true],
  ["model_not_found", 404, "invalid_request_error", "not_found_error", true],
  ["context_length_exceeded", 400, "invalid_request_error", "invalid_request_error", true],
  ["idempotency_conflict", 409, "invalid_request_error", "invalid_request_error", false],
  ["idempotency_in_flight", 409, "invalid_request_error", "invalid_request_error", true],
  ["not_found", 404, "invalid_request_error", "not_found_error", true],
  ["method_not_allowed", 405, "invalid_request_error", "invalid_request_error", true],
  ["upgrade_required", 426, "invalid_request_error", "invalid_request_error", true],
  ["provider_unavailable", 502, "api_error", "api_error", true],
  ["upstream_error", 502, "api_error", "api_error", true],
  ["upstream_timeout", 504, "api_error", "timeout_error", true],
  ["service_unavailable", 503, "api_error", "overloaded_error", true],
  ["internal_error", 500, "api_error", "api_error", true],
];

describe("every error has its status and its type in both formats (C81)", () => {
  for (const [code, status, typeA, typeB, mayRetry] of table) {
    test(code, () => {
      const error = new GatewayError(code, "prompt is too long: no", { param: "messages[0]" });
      const a = renderError(openAi, error, "req_1");
      expect(a.status).toBe(status);
      expect(JSON.parse(a.body)).toEqual({
        error: { message: error.message, type: typeA, code, param: "messages[0]", request_id: "req_1" },
      });
      const b = renderError(anthropic, error, "req_1");
      expect(b.status).toBe(status);
      expect(JSON.parse(b.body)).toEqual({
        type: "error",
        error: { type: typeB, message: error.message, code, request_id: "req_1" },
        request_id: "req_1",
      });
      expect(a.headers["x-request-id"]).toBe("req_1");
      expect(a.headers["request-id"]).toBeUndefined();
      expect(b.headers["request-id"]).toBe("req_1");
      expect(a.headers["x-should-retry"]).toBe(mayRetry ? undefined : "false");
    });
  }
});

test("an overflow is told to native clients in the words and numbers that they look for (C82)", () => {
  const words =
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.";
  const told = (message: string) =>
    JSON.parse(renderError(anthropic, new GatewayError("context_length_exceeded", message), "r").body).error
      .message;
  expect(told(words)).toBe("prompt is too long: 130000 tokens > 128000 maximum");
  expect(told("prompt is too long: 5 tokens > 4 maximum")).toBe("prompt is too long: 5 tokens > 4 maximum");
  expect(told("the window is full")).toBe("prompt is too long: the window is full");
});

test("a limit says when to come back, and an empty account that it is of no use (C83)", () => {
  const limited = renderError(
    anthropic,
    new GatewayError("rate_limit_exceeded", "slow", { retryAfterSeconds: 7 }),
    "r",
  );
  expect(limited.headers["retry-after"]).toBe("7");
  expect(
    renderError(openAi, new GatewayError("service_unavailable", "busy"), "r").headers["retry-after"],
  ).toBe("1");
  const broke = renderError(anthropic, new GatewayError("insufficient_credit", "empty"), "r");
  expect(broke.headers).not.toContainKey("retry-after");
  expect(broke.headers["x-should-retry"]).toBe("false");
  expect(inBand("responses", new GatewayError("limit_reached", "used up"))).toContain(
    '"code":"insufficient_quota"',
  );
});

test("a bad key is refused in the client's own format, once and for all (C84)", () => {
  const error = new GatewayError("invalid_credentials", "The key is not known.");
  for (const format of [openAi, anthropic]) {
    const refused = renderError(format, error, "r");
    expect(refused.status).toBe(401);
    expect(refused.headers["x-should-retry"]).toBe("false");
    expect(JSON.parse(refused.body).error.type).toBe("authentication_error");
  }
});

describe("an error inside a stream is none of the ways in which a stream ends well (C74)", () => {
  const error = new GatewayError("upstream_error", "broken");
  const ends: Readonly<Record<BodyDialectName, string>> = {
    chat: "[DONE]",
    messages: "message_stop",
    responses: "response.completed",
  };
  for (const dialect of ["chat", "messages", "responses"] as const) {
    test(dialect, () => {
      const text = inBand(dialect, error);
      expect(text).not.toContain(ends[dialect]);
      expect(text).toEndWith("\n\n");
    });
  }

  test("a failed response has the id, the number and the model of its stream", () => {
    const position = {
      sequenceNumber: 9,
      responseId: "resp_7",
      model: "m",
      createdAtSeconds: 5,
      hasBegun: false,
      usage: null,
    };
    const [event = "", done] = inBand("responses", error, position).split("\n\n");
    expect(done).toBe("data: [DONE]");
    const data = JSON.parse(event.slice(event.indexOf("{")));
    expect(data).toMatchObject({ type: "response.failed", sequence_number: 9 });
    expect(data.response).toMatchObject({ id: "resp_7", model: "m", status: "failed", output: [] });
  });
});

test("heartbeats are events once a stream has begun, and comments before (C77)", () => {
  for (const dialect of ["chat", "messages", "responses"] as const) {
    expect(clientDialect(dialect).heartbeat(false, 0, "m")).toBe(": keepalive\n\n");
  }
  expect(clientDialect("chat").heartbeat(true, 0, "m")).toBe(": keepalive\n\n");
  expect(clientDialect("messages").heartbeat(true, 0, "m")).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  expect(clientDialect("responses").heartbeat(true, 4, "m")).toBe(
    'event: keepalive\ndata: {"type":"keepalive","sequence_number":4}\n\n',
  );
});
