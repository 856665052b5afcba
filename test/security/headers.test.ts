import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";

import { configFor, upstreamKeys } from "../support/config.ts";
import { usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { readStream } from "../support/sse.ts";

/** Invariant 13: what is not on a list does not travel, neither up nor back, in any pair of dialects. */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  key = await sluice.createKey();
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const asks: Readonly<Record<BodyDialectName, { path: string; body: object }>> = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "Hello" }] } },
  responses: { path: "/v1/responses", body: { input: "Hello" } },
  messages: { path: "/v1/messages", body: { messages: [{ role: "user", content: "Hello" }] } },
};

const pairs = bodyDialectNames.flatMap((dialect) =>
  ["gpt-test", "claude-test", "local-test"].map((model): [BodyDialectName, string] => [dialect, model]),
);

/** Credentials, cookies, hop-by-hop, what proxies say, accounts: all of it with a canary in it. */
const sentByClient: Readonly<Record<string, string>> = {
  cookie: "session=canary",
  "proxy-authorization": "Basic canary",
  "proxy-connection": "canary",
  "keep-alive": "timeout=canary",
  te: "canary",
  trailer: "canary",
  upgrade: "canary",
  forwarded: "for=canary",
  via: "1.1 canary",
  "x-forwarded-for": "canary",
  "x-forwarded-host": "canary",
  "x-forwarded-proto": "canary",
  "x-real-ip": "canary",
  "x-original-url": "/canary",
  "cf-connecting-ip": "canary",
  "true-client-ip": "canary",
  origin: "http://canary.example",
  referer: "http://canary.example",
  "user-agent": "canary",
  "accept-language": "canary",
  "accept-encoding": "gzip, canary",
  "openai-organization": "org-canary",
  "openai-project": "proj-canary",
  "anthropic-workspace-id": "canary",
  "api-key": "canary",
  "x-goog-api-key": "canary",
  "x-stainless-lang": "canary",
  "x-request-id": "canary",
  traceparent: "00-canary-canary-01",
  "idempotency-key": "canary",
  "x-sluice-cost": "canary",
  "x-canary": "canary",
};

/** Everything that may stand in a request to a provider. */
const mayGoUp: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "anthropic-beta",
  "anthropic-version",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "host",
  "openai-beta",
  "user-agent",
  "x-api-key",
]);

/** The operator's account, its limits, its cookies, and what describes a connection that the client does not have. */
const sentByProvider: Readonly<Record<string, string>> = {
  "set-cookie": "session=canary",
  "openai-organization": "canary",
  "openai-project": "canary",
  "anthropic-organization-id": "canary",
  "anthropic-ratelimit-requests-limit": "canary",
  "anthropic-ratelimit-tokens-remaining": "canary",
  "x-ratelimit-limit-requests": "canary",
  "x-ratelimit-remaining-tokens": "canary",
  "x-ratelimit-reset-requests": "canary",
  "retry-after": "canary",
  "x-request-id": "canary",
  "request-id": "canary",
  server: "canary",
  via: "canary",
  "cf-ray": "canary",
  "alt-svc": "canary",
  "x-envoy-upstream-service-time": "canary",
  "strict-transport-security": "canary",
  "access-control-allow-origin": "*canary",
  "content-disposition": "canary",
  "keep-alive": "timeout=5, canary",
  authorization: "Bearer canary",
  "x-api-key": "canary",
  "www-authenticate": "canary",
  location: "http://canary.example",
  etag: "canary",
  "idempotent-replayed": "canary",
  "x-should-retry": "canary",
};

async function ask(dialect: BodyDialectName, model: string, stream: boolean, headers = sentByClient) {
  const { path, body } = asks[dialect];
  const once = { ...headers, "idempotency-key": `canary-${dialect}-${model}-${stream}` };
  const response = await sluice.request(path, { key, body: { model, stream, ...body }, headers: once });
  await readStream(response);
  expect(response.status).toBe(200);
  return response;
}

describe.each(pairs)("a %s client of %s", (dialect, model) => {
  test.each([false, true])("sends up nothing that is not on the list (stream: %p)", async (stream) => {
    await ask(dialect, model, stream);
    const [seen] = provider.requests;
    expect(Object.keys(seen?.headers ?? {}).filter((name) => !mayGoUp.has(name))).toEqual([]);
    const values = JSON.stringify(seen?.headers);
    expect(values.replaceAll(/sk-upstream-\w+-canary/g, "")).not.toContain("canary");
    expect(values).not.toContain(key.key);
    expect(seen?.headers["host"]).toBe(new URL(provider.url).host);
    expect(seen?.headers["accept-encoding"]).toBe("identity");
    expect(credentialsOf(seen?.headers ?? {})).toEqual(expectedCredentials(model));
  });

  test.each([false, true])("gets back nothing that is not on the list (stream: %p)", async (stream) => {
    provider.script((request) => {
      const usual = usualResponse(request);
      return { ...usual, headers: { ...sentByProvider, ...usual.headers } };
    });
    const response = await ask(dialect, model, stream, {});
    expect(JSON.stringify([...response.headers])).not.toContain("canary");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  });
});

function credentialsOf(headers: Readonly<Record<string, string>>): (string | undefined)[] {
  return [headers["authorization"], headers["x-api-key"]];
}

/** Exactly the provider's own, in its vendor's scheme; none for one that needs none. */
function expectedCredentials(model: string): (string | undefined)[] {
  if (model === "gpt-test") return [`Bearer ${upstreamKeys.TEST_OPENAI_KEY}`, undefined];
  if (model === "claude-test") return [undefined, upstreamKeys.TEST_ANTHROPIC_KEY];
  return [undefined, undefined];
}

test("an error tells nothing of the provider's headers but when to come back", async () => {
  provider.script({
    status: 429,
    framing: "length",
    before: [],
    headers: { ...sentByProvider, "retry-after": "3", "content-type": "application/json" },
    steps: [{ write: "{}" }],
  });
  const { path, body } = asks.chat;
  const response = await sluice.request(path, { key, body: { model: "gpt-test", ...body } });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("3");
  expect(JSON.stringify([...response.headers])).not.toContain("canary");
});

test("all headers of Anthropic's API reach a provider that speaks it, and no other", async () => {
  const headers = {
    "anthropic-version": "2026-10-21",
    "anthropic-user-profile-id": "p",
    "anthropic-next": "n",
  };
  const { path, body } = asks.messages;
  for (const model of ["claude-test", "gpt-test"]) {
    await sluice.request(path, { key, body: { model, ...body }, headers });
  }
  const [native, foreign] = provider.requests;
  expect(native?.headers).toMatchObject(headers);
  expect(Object.keys(foreign?.headers ?? {}).filter((name) => name.startsWith("anthropic-"))).toEqual([]);
});

test("a header value cannot smuggle another header up", async () => {
  for (const value of ["x\ty", "a".repeat(5000), "beta,\u00e9"]) {
    await sluice.request("/v1/messages", {
      key,
      body: { model: "claude-test", ...asks.messages.body },
      headers: { "anthropic-beta": value },
    });
  }
  for (const { headers } of provider.requests) {
    expect(Object.keys(headers).filter((name) => !mayGoUp.has(name))).toEqual([]);
    expect((headers["anthropic-beta"] ?? "").length).toBeLessThanOrEqual(4096);
  }
});
