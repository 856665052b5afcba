import { describe, expect, test } from "bun:test";
import { readErrorBody, readTokenLimit } from "../../../src/dialects/errors/error-body.ts";
import { reportedFailure } from "../../../src/dialects/errors/failure.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";

const json = "application/json";
const chat = providerDialect("chat");

describe("a complaint is read in whatever shape it comes (C85)", () => {
  const shapes: readonly [string, string, string, string][] = [
    ["OpenAI", json, '{"error":{"message":"bad","type":"t","code":"c","param":null}}', "bad"],
    ["Anthropic", json, '{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}', "bad"],
    ["a string for an error", json, '{"error":"bad"}', "bad"],
    ["a bare message", json, '{"message":"bad"}', "bad"],
    ["FastAPI's detail as a text", json, '{"detail":"bad"}', "bad"],
    [
      "FastAPI's detail as a list",
      json,
      '{"detail":[{"loc":["body","model"],"msg":"field required"},{"loc":["body","n"],"msg":"too big"}]}',
      "body.model: field required; body.n: too big",
    ],
    ["FastAPI's detail as an object", json, '{"detail":{"message":"bad"}}', "bad"],
    ["a list of one", json, '[{"error":{"message":"bad"}}]', "bad"],
    ["JSON behind another content type", "text/plain", '{"message":"bad"}', "bad"],
    ["plain text", "text/plain", " bad \n", "bad"],
    ["HTML", "text/html", "<html><body>nginx</body></html>", "The provider returned 502 Bad Gateway."],
    ["nothing", json, "", "The provider returned 502 Bad Gateway."],
    ["an object that says nothing", json, '{"ok":false}', "The provider returned 502 Bad Gateway."],
  ];
  for (const [name, type, text, message] of shapes) {
    test(name, () => expect(readErrorBody(502, type, text).message).toBe(message));
  }

  test("an unknown status is told by its number", () => {
    expect(readErrorBody(599, null, "").message).toBe("The provider returned 599.");
  });

  test("type and code are kept", () => {
    const refusal = readErrorBody(400, json, '{"error":{"message":"m","type":"t","code":"c"}}');
    expect(refusal).toEqual({ message: "m", contextOverflow: false, type: "t", code: "c" });
  });
});

test("keys, accounts and addresses of the provider are not told (C85)", () => {
  const told = readErrorBody(
    400,
    json,
    JSON.stringify({
      error: {
        message:
          "Incorrect API key provided: sk-proj-abc123*****wxyz. See https://platform.example.com/keys for org-AbCdEf123456, Bearer abcdef123456.",
      },
    }),
  ).message;
  for (const secret of ["sk-proj", "wxyz", "example.com", "AbCdEf", "abcdef123456"]) {
    expect(told).not.toContain(secret);
  }
});

test("hosts and files of a local server are not told, and versions and times are (C85)", () => {
  const told = (message: string) => readErrorBody(400, json, JSON.stringify({ error: { message } })).message;
  expect(told("dial tcp 10.1.2.3:11434: connect: connection refused")).toBe(
    "dial tcp [host]: connect: connection refused",
  );
  expect(told("no route to [fd00::5]:8080 or gpu-1.internal:8080, localhost:9000")).toBe(
    "no route to [host] or [host], [host]",
  );
  expect(told("failed to load '/srv/models/llama-3.gguf' and /root/.ollama/models/blobs/sha256-ab12")).toBe(
    "failed to load '[file]' and [file]",
  );
  for (const message of ["needs version 1.2.3", "see [12:30] and item a:1", "use audio/wav or text/plain"])
    expect(told(message)).toBe(message);
});

test("a message that quotes what a client repeats is read in no time", () => {
  const parts = [
    "/",
    "a.",
    "[:",
    "[::",
    "1.",
    "/a/blobs",
    "localhost.",
    "sk-",
    "-",
    "a-",
    "a ",
    "eyJ-",
    "eyJ.",
    "eyJ",
  ];
  const more = [
    "a@",
    "@",
    "org-",
    "http://",
    "projects/",
    "arn:aws-",
    "arn:aws:",
    "ya29.",
    "AKIA",
    "bearer ",
    "project ",
    '"',
    "<",
  ];
  for (const part of [...parts, ...more]) {
    const text = JSON.stringify({ error: { message: part.repeat(64_000 / part.length) } });
    const startedMs = performance.now();
    readErrorBody(400, json, text);
    // 7 s, before.
    expect(performance.now() - startedMs, part).toBeLessThan(250);
  }
});

describe("an overflow is recognised by its code or by its words (C82)", () => {
  const words = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
  ];
  for (const message of words) {
    test(message.slice(0, 40), () => {
      expect(readErrorBody(400, json, JSON.stringify({ error: { message } })).contextOverflow).toBe(true);
    });
  }

  test("by its code alone", () => {
    const body = '{"error":{"message":"no","code":"context_length_exceeded"}}';
    expect(readErrorBody(400, json, body).contextOverflow).toBe(true);
  });

  test("and nothing else is one", () => {
    for (const message of ["max_tokens is too large", "Invalid 'tools': context is required", "bad"]) {
      expect(readErrorBody(400, json, JSON.stringify({ error: { message } })).contextOverflow).toBe(false);
    }
  });

  test("with the tokens that were needed and that there are", () => {
    expect(words.map(readTokenLimit)).toEqual([
      { needed: 210_000, maximum: 200_000 },
      { needed: 130_000, maximum: 128_000 },
      null,
      { needed: 210_000, maximum: 200_000 },
      { needed: 300_000, maximum: 272_000 },
    ]);
  });
});

test("a place that is no path is left out of a complaint", () => {
  const detail = [
    { loc: ["body", { toString: 1 }, 0, null], msg: "must be a string" },
    { loc: 3, msg: "is odd" },
  ];
  const { message } = readErrorBody(422, json, JSON.stringify({ detail }));
  expect(message).toBe("body.0: must be a string; is odd");
});

test("an error in place of an answer keeps its meaning (C75)", () => {
  const codes = (error: { type?: string; code?: string; message: string }) =>
    reportedFailure({ error }, chat).code;
  expect(codes({ type: "overloaded_error", message: "m" })).toBe("service_unavailable");
  expect(codes({ code: "rate_limit_exceeded", message: "m" })).toBe("service_unavailable");
  expect(codes({ type: "invalid_request_error", message: "m" })).toBe("invalid_request");
  expect(codes({ type: "invalid_request_error", message: "prompt is too long" })).toBe(
    "context_length_exceeded",
  );
  expect(codes({ type: "server_error", message: "m" })).toBe("upstream_error");
});

test("what the provider says of its own account is not told to the client (C84)", () => {
  const failure = reportedFailure(
    { error: { type: "authentication_error", message: "invalid x-api-key" } },
    chat,
  );
  expect(failure.code).toBe("upstream_error");
  expect(failure.message).toBe(
    "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
  );
});
