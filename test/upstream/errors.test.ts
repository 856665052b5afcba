import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ErrorCode } from "../../src/base/errors.ts";
import type { GenerationPlan } from "../../src/upstream/upstream.ts";
import {
  type Answer,
  anthropicError,
  compressed,
  cutAfter,
  hangUp,
  json,
  openAiError,
  redirect,
  silence,
  sse,
  text,
} from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { nobody, refusalOf, setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

interface Row {
  readonly what: string;
  readonly answer: Answer;
  readonly stream?: boolean;
  readonly dialect?: BodyDialectName;
  readonly status: number;
  readonly code: ErrorCode;
  /** How many requests the provider sees; a fault that may pass is tried once more. */
  readonly requests?: number;
  readonly says?: string;
}

const whole = answerFrom("chat/text.json");
const stream = answerFrom("chat/text.sse");

const rows: readonly Row[] = [
  {
    what: "400",
    answer: openAiError(400, "bad temperature"),
    status: 400,
    code: "invalid_request",
    says: "bad temperature",
  },
  { what: "413", answer: openAiError(413, "too big"), status: 400, code: "invalid_request", says: "too big" },
  {
    what: "422",
    answer: json({ detail: [{ loc: ["body", "n"], msg: "wrong" }] }, { status: 422 }),
    status: 400,
    code: "invalid_request",
    says: "body.n: wrong",
  },
  {
    what: "a context overflow",
    answer: openAiError(400, "This model's maximum context length is 10 tokens", "context_length_exceeded"),
    status: 400,
    code: "context_length_exceeded",
  },
  {
    what: "Anthropic's overflow",
    answer: anthropicError(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
    dialect: "messages",
    status: 400,
    code: "context_length_exceeded",
    says: "prompt is too long: 9 tokens > 5 maximum",
  },
  {
    what: "401",
    answer: openAiError(401, "Incorrect API key provided: sk-canary-canary"),
    status: 502,
    code: "upstream_error",
  },
  { what: "402", answer: openAiError(402, "pay for org-canary1234"), status: 502, code: "upstream_error" },
  { what: "403", answer: openAiError(403, "country sk-canary-canary"), status: 502, code: "upstream_error" },
  { what: "404", answer: openAiError(404, "no model sk-canary-canary"), status: 502, code: "upstream_error" },
  { what: "429", answer: openAiError(429, "slow down"), status: 503, code: "service_unavailable" },
  { what: "503", answer: openAiError(503, "busy"), status: 503, code: "service_unavailable" },
  {
    what: "529",
    answer: anthropicError(529, "overloaded_error", "Overloaded"),
    dialect: "messages",
    status: 503,
    code: "service_unavailable",
  },
  { what: "500", answer: openAiError(500, "oops"), status: 502, code: "upstream_error", requests: 2 },
  {
    what: "502 from a proxy, as HTML",
    answer: text("<html>sk-canary-canary</html>", "text/html", { status: 502 }),
    status: 502,
    code: "upstream_error",
    requests: 2,
  },
  {
    what: "504",
    answer: openAiError(504, "gateway timeout"),
    status: 502,
    code: "upstream_error",
    requests: 2,
  },
  { what: "418", answer: openAiError(418, "teapot"), status: 502, code: "upstream_error" },
  { what: "204", answer: text("", "application/json", { status: 204 }), status: 502, code: "upstream_error" },
  {
    what: "a redirect",
    answer: redirect("http://127.0.0.1:1/elsewhere"),
    status: 502,
    code: "upstream_error",
  },
  { what: "an unasked compression", answer: compressed(whole), status: 502, code: "upstream_error" },
  {
    what: "HTML with status 200",
    answer: text("<html>log in</html>", "text/html"),
    status: 502,
    code: "upstream_error",
  },
  { what: "no content type", answer: { ...whole, headers: {} }, status: 502, code: "upstream_error" },
  {
    what: "half a JSON body",
    answer: text('{"id":"x","choi', "application/json"),
    status: 502,
    code: "upstream_error",
  },
  { what: "an empty body", answer: text("", "application/json"), status: 502, code: "upstream_error" },
  { what: "a JSON list", answer: text("[]", "application/json"), status: 502, code: "upstream_error" },
  {
    what: "200 with an error body",
    answer: openAiError(200, "actually no"),
    status: 502,
    code: "upstream_error",
    says: "actually no",
  },
  {
    what: "200 with Anthropic's error body",
    answer: anthropicError(200, "overloaded_error", "Overloaded"),
    dialect: "messages",
    status: 503,
    code: "service_unavailable",
  },
  {
    what: "200 with an overflow as its body",
    answer: openAiError(200, "prompt is too long", "context_length_exceeded"),
    status: 400,
    code: "context_length_exceeded",
  },
  {
    what: "an error as the first frame",
    answer: sse('data: {"error":{"message":"no luck"}}\n\n'),
    stream: true,
    status: 502,
    code: "upstream_error",
    says: "no luck",
  },
  {
    what: "an error event after comments and pings",
    answer: sse(
      ': hi\r\n\r\nevent: ping\r\n\r\nevent: error\r\ndata: {"type":"error","error":{"type":"api_error","message":"boom"}}\r\n\r\n',
    ),
    stream: true,
    dialect: "messages",
    status: 502,
    code: "upstream_error",
    says: "boom",
  },
  {
    what: "response.failed as the first frame",
    answer: sse(
      'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"server_error","message":"sorry"}}}\n\n',
    ),
    stream: true,
    dialect: "responses",
    status: 502,
    code: "upstream_error",
    says: "sorry",
  },
  {
    what: "an error frame without its blank line",
    answer: sse('data: {"error":{"message":"cut"}}'),
    stream: true,
    status: 502,
    code: "upstream_error",
    says: "cut",
  },
  {
    what: "a stream that ends before it begins",
    answer: sse(""),
    stream: true,
    status: 502,
    code: "upstream_error",
  },
  {
    what: "an error body for a stream request",
    answer: openAiError(200, "no stream today"),
    stream: true,
    status: 502,
    code: "upstream_error",
  },
  { what: "a reset before the headers", answer: hangUp(), status: 502, code: "upstream_error" },
  {
    what: "a reset within a whole body",
    answer: cutAfter({ ...whole, framing: "chunked" }, 50, [{ sleepMs: 20 }, { reset: true }]),
    status: 502,
    code: "upstream_error",
  },
  {
    what: "a reset before the first frame",
    answer: cutAfter(stream, 5, [{ sleepMs: 20 }, { reset: true }]),
    stream: true,
    status: 502,
    code: "upstream_error",
  },
];

describe("what the provider did, and what the client is told", () => {
  for (const row of rows) {
    test(`${row.what}: ${row.status} ${row.code}`, async () => {
      provider.script(row.answer);
      const { upstream, plan, log } = setUp([{ url: provider.url }]);
      const error = await refusalOf(
        upstream,
        plan({ stream: row.stream ?? false, clientDialect: row.dialect ?? "chat" }),
      );
      expect({ status: error.status, code: error.code }).toMatchObject({
        status: row.status,
        code: row.code,
      });
      if (row.says !== undefined) expect(error.message).toContain(row.says);
      expect(error.message).not.toContain("canary");
      expect(JSON.stringify(log)).not.toContain("canary");
      expect(provider.requests).toHaveLength(row.requests ?? 1);
      expect(upstream.health()[0]?.inFlight).toBe(0);
    });
  }

  test("a refused connection: 502 provider_unavailable", async () => {
    const { upstream, plan } = setUp([{ url: nobody }]);
    expect(await refusalOf(upstream, plan())).toMatchObject({ status: 502, code: "provider_unavailable" });
  });

  test("a host that does not exist: 502 provider_unavailable", async () => {
    const { upstream, plan } = setUp([{ url: "http://nowhere.invalid" }]);
    expect(await refusalOf(upstream, plan())).toMatchObject({ status: 502, code: "provider_unavailable" });
  });

  test("no TLS where it was expected: 502 provider_unavailable", async () => {
    const data = (socket: Bun.Socket) => void socket.end("220 this is a mail server\r\n");
    const mailServer = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data } });
    const { upstream, plan } = setUp([{ url: `https://127.0.0.1:${mailServer.port}` }]);
    expect(await refusalOf(upstream, plan())).toMatchObject({ status: 502, code: "provider_unavailable" });
    mailServer.stop(true);
  });

  for (const stream of [false, true]) {
    test(`silence before the headers of a ${stream ? "stream" : "whole body"}: a timeout, no second attempt`, async () => {
      provider.script(silence());
      const timeouts = { firstByteMs: 60, streamFirstByteMs: 60 };
      const { upstream, plan } = setUp([
        { url: provider.url, timeouts },
        { url: provider.url, priority: 2 },
      ]);
      const told = (clientDialect: BodyDialectName) => refusalOf(upstream, plan({ clientDialect, stream }));
      expect(await told("chat")).toMatchObject({ status: 502, code: "upstream_error" });
      expect(await told("responses")).toMatchObject({ status: 502, code: "upstream_error" });
      expect(await told("messages")).toMatchObject({ status: 504, code: "upstream_timeout" });
      expect(provider.requests).toHaveLength(3);
    });
  }

  test("a provider that wants a pause: its Retry-After reaches the client", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }]);
    provider.script(openAiError(429, "slow down", null, { "retry-after": "7" }));
    expect(await refusalOf(upstream, plan())).toMatchObject({ status: 503, retryAfterSeconds: 7 });
  });

  test("a refusal of the gateway itself is an alarm to the operator, once per attempt", async () => {
    provider.script(openAiError(401, "Incorrect API key provided: sk-canary-canary"));
    const { upstream, plan, log } = setUp([{ url: provider.url, apiKeys: ["sk-canary-canary"] }]);
    await refusalOf(upstream, plan());
    expect(log).toMatchObject([{ level: "error", fields: { deployment: "p0/real", failure: "status_401" } }]);
  });
});

test("a refusal that its reader stumbles over fails the call at once, and gives back its slot", async () => {
  provider.script(openAiError(400, "odd"));
  const { upstream, plan } = setUp([{ url: provider.url, maxConcurrent: 1 }]);
  const usual = plan();
  const stumbling: GenerationPlan = {
    ...usual,
    prepare: (deployment) => {
      Object.assign(deployment.provider, { readProviderError: stumble });
      return usual.prepare(deployment);
    },
  };
  const { code, cause } = await refusalOf(upstream, stumbling);
  expect([code, String(cause)]).toEqual(["upstream_error", "TypeError: No default value"]);
  expect(upstream.health()[0]?.inFlight).toBe(0);
});

function stumble(): never {
  throw new TypeError("No default value");
}
