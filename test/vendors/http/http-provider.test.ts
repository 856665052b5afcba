import { describe, expect, test } from "bun:test";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { pickResponse } from "../../../src/upstream/call/inspect.ts";
import type { CredentialUse } from "../../../src/vendors/credentials/credential.ts";
import { HttpProvider } from "../../../src/vendors/http/http-provider.ts";
import type { PreparedRequest, ProviderSettings } from "../../../src/vendors/provider.ts";
import { createProvider, type VendorKind } from "../../../src/vendors/registry.ts";
import { collectResponse } from "../../../src/wire/collect.ts";
import { startProvider } from "../../support/provider.ts";
import { prepared, providerSettings } from "../../upstream/fixtures.ts";

function provider(kind: VendorKind, baseUrl: string, changes: Partial<ProviderSettings> = {}): HttpProvider {
  const apiKeys = ["sk-1", "sk-2"];
  const created = createProvider(
    providerSettings({ kind, baseUrl, dialects: ["chat"], apiKeys, ...changes }),
  );
  if (!(created instanceof HttpProvider)) throw new Error(`${kind} is not called over HTTP`);
  return created;
}

function keyOf(it: HttpProvider, index = 0): CredentialUse | null {
  return it.credentials[index]?.use() ?? null;
}

type Asked = PreparedRequest["dialect"] | "count_tokens";

function asking(what: Asked, headers: PreparedRequest["headers"] = {}): PreparedRequest {
  if (what === "count_tokens") return prepared({ dialect: "messages", purpose: "countTokens", headers });
  return prepared({ dialect: what, headers });
}

describe("addresses", () => {
  const rows: [VendorKind, string, Asked, string][] = [
    ["openai", "https://api.openai.com/v1", "chat", "https://api.openai.com/v1/chat/completions"],
    ["openai", "https://api.openai.com/v1", "responses", "https://api.openai.com/v1/responses"],
    ["anthropic", "https://api.anthropic.com", "messages", "https://api.anthropic.com/v1/messages"],
    [
      "anthropic",
      "https://api.anthropic.com",
      "count_tokens",
      "https://api.anthropic.com/v1/messages/count_tokens",
    ],
    ["openai-compatible", "http://localhost:11434/v1", "chat", "http://localhost:11434/v1/chat/completions"],
    ["openai-compatible", "http://localhost:11434/v1", "messages", "http://localhost:11434/v1/messages"],
  ];
  for (const [kind, base, operation, url] of rows) {
    test(`${kind} at ${base}, ${operation}`, () =>
      expect(provider(kind, base).url(asking(operation))).toBe(url));
  }
});

test("Cohere's chat is next to its own API, which has its embeddings and rerank", () => {
  const cohere = provider("openai-compatible", "https://api.cohere.com/v2", { quirks: ["cohere_embed"] });
  const urlOf = (request: PreparedRequest) => cohere.url(request);
  expect(urlOf(asking("chat"))).toBe("https://api.cohere.com/compatibility/v1/chat/completions");
  for (const dialect of ["embeddings", "rerank"] as const) {
    const path = dialect === "embeddings" ? "embed" : "rerank";
    const metered = prepared({ dialect: "chat", purpose: "metered", method: path });
    expect(urlOf(metered)).toBe(`https://api.cohere.com/v2/${path}`);
  }
});

describe("request headers", () => {
  test("the credential goes in the vendor's scheme", () => {
    const openAi = provider("openai", "https://x/v1");
    expect(openAi.headers(asking("chat", {}), keyOf(openAi))).toMatchObject({
      authorization: "Bearer sk-1",
      "content-type": "application/json",
      "accept-encoding": "identity",
    });
    const anthropic = provider("anthropic", "https://x");
    const headers = anthropic.headers(asking("messages", {}), keyOf(anthropic, 1));
    expect(headers).toMatchObject({ "x-api-key": "sk-2", "anthropic-version": "2023-06-01" });
    expect(headers).not.toHaveProperty("authorization");
    expect(provider("openai-compatible", "http://x").headers(asking("chat", {}), null)).not.toHaveProperty(
      "authorization",
    );
  });

  test("the client's version and betas go up on messages, and only there", () => {
    const forwarded = { "anthropic-version": "2026-10-21", "anthropic-beta": "a,b", "openai-beta": "c" };
    const native = provider("anthropic", "https://x").headers(asking("messages", forwarded), null);
    expect(native).toMatchObject({ "anthropic-version": "2026-10-21", "anthropic-beta": "a,b" });
    expect(native).not.toHaveProperty("openai-beta");
    const foreign = provider("openai", "https://x").headers(asking("chat", forwarded), null);
    expect(foreign).not.toHaveProperty("anthropic-version");
    expect(foreign).not.toHaveProperty("anthropic-beta");
    expect(foreign).toHaveProperty("openai-beta", "c");
  });

  test("what the configuration sets beats what a client sends", () => {
    const headers = { "Anthropic-Beta": "ours", "anthropic-workspace-id": "ws" };
    const forwarded = { "anthropic-beta": "theirs", "anthropic-of-tomorrow": "yes" };
    const sent = provider("anthropic", "https://x", { headers }).headers(asking("messages", forwarded), null);
    expect(sent).toMatchObject({
      "anthropic-beta": "ours",
      "anthropic-workspace-id": "ws",
      "anthropic-of-tomorrow": "yes",
    });
  });

  test("the operator's own headers are sent, whatever their case", () => {
    const headers = provider("openai", "https://x", { headers: { "OpenAI-Project": "p1" } }).headers(
      asking("chat", {}),
      null,
    );
    expect(headers["openai-project"]).toBe("p1");
  });

  test("of the client's headers only those of its vendor are picked, and of Anthropic's all but the workspace", () => {
    const everything = new Headers({
      authorization: "Bearer canary",
      "x-api-key": "canary",
      cookie: "canary",
      host: "canary",
      connection: "canary",
      "transfer-encoding": "chunked",
      "x-forwarded-for": "canary",
      "proxy-authorization": "canary",
      "openai-organization": "canary",
      "anthropic-beta": "a,b",
      "compat-version": "2024-01-01",
      "anthropic-version": "2023-06-01",
      "anthropic-user-profile-id": "profile",
      "Anthropic-Of-Tomorrow": "yes",
      "anthropic-too-long": "x".repeat(4097),
      "anthropic-workspace-id": "canary",
      "x-anthropic-canary": "canary",
      "openai-beta": "c",
    });
    expect(clientDialect("messages").forwardHeaders(everything)).toEqual({
      "anthropic-beta": "a,b",
      "anthropic-of-tomorrow": "yes",
      "anthropic-user-profile-id": "profile",
      "anthropic-version": "2024-01-01",
    });
    expect(clientDialect("chat").forwardHeaders(everything)).toEqual({ "openai-beta": "c" });
    expect(clientDialect("responses").forwardHeaders(new Headers())).toEqual({});
    expect(clientDialect("messages").forwardHeaders(new Headers({ "anthropic-version": "v" }))).toEqual({
      "anthropic-version": "v",
    });
  });

  test("what reaches the provider is what the headers say, over a real socket", async () => {
    const scripted = startProvider();
    const it = provider("openai-compatible", scripted.url);
    const headers = it.headers(asking("chat", { "openai-beta": "c" }), keyOf(it));
    const request = { ...asking("chat", { "openai-beta": "c" }), body: '{"a":1}' };
    await collectResponse(
      (receiver) => it.send(request, keyOf(it), receiver, "key"),
      AbortSignal.timeout(5000),
    );
    expect(scripted.requests[0]).toMatchObject({
      method: "POST",
      path: "/chat/completions",
      text: '{"a":1}',
    });
    expect(scripted.requests[0]?.headers).toMatchObject({ ...headers, host: new URL(scripted.url).host });
    scripted.stop();
  });

  test("what holds for every request is sent with every request, and each key's with its own", async () => {
    const scripted = startProvider();
    const it = provider("openai-compatible", scripted.url);
    for (const index of [0, 1, 0]) {
      const request = asking("chat", clientDialect("chat").forwardHeaders(new Headers()));
      await collectResponse(
        (receiver) => it.send(request, keyOf(it, index), receiver, "key"),
        AbortSignal.timeout(5000),
      );
    }
    const sent = scripted.requests.map(({ headers }) => headers["authorization"]);
    expect(sent).toEqual(["Bearer sk-1", "Bearer sk-2", "Bearer sk-1"]);
    scripted.stop();
  });

  test("what is forwarded is each request's own, however many there are", async () => {
    const scripted = startProvider();
    const it = provider("anthropic", scripted.url);
    const betas = Array.from({ length: 100 }, (_, number) => `beta-${number % 50}`);
    for (const [number, beta] of betas.entries()) {
      const headers = number % 10 === 0 ? {} : { "anthropic-beta": beta };
      const request = { ...asking("messages", headers), body: "{}" };
      await collectResponse(
        (receiver) => it.send(request, keyOf(it), receiver, "key"),
        AbortSignal.timeout(5000),
      );
    }
    const sent = scripted.requests.map(({ headers }) => headers["anthropic-beta"]);
    expect(sent).toEqual(betas.map((beta, number) => (number % 10 === 0 ? undefined : beta)));
    scripted.stop();
  });

  // The last two become a carriage return and a line feed when a letter is written as one byte.
  for (const end of ["\r\n", "\n", "\r", "\0", "\u010d", "\u010a"]) {
    test(`a value with ${JSON.stringify(end)} in it is refused before anything is sent`, () => {
      const it = provider("openai", "http://127.0.0.1:1/v1", { headers: { "x-note": `a${end}x-evil: b` } });
      const request = { ...asking("chat"), body: "{}" };
      const nobody = { connected() {}, answered() {}, received() {}, ended() {}, failed() {} };
      expect(() => it.send(request, keyOf(it), nobody, "key")).toThrow("The header x-note ");
    });
  }

  test("letters of one byte reach the provider as they are", async () => {
    const scripted = startProvider();
    const it = provider("openai-compatible", scripted.url, { headers: { "x-note": "caf\u00e9\t!" } });
    const request = { ...asking("chat"), body: "{}" };
    await collectResponse(
      (receiver) => it.send(request, keyOf(it), receiver, "key"),
      AbortSignal.timeout(5000),
    );
    // Neither is UTF-8 on the wire, so it is read here as a letter that is none.
    expect(scripted.requests[0]?.headers["x-note"]).toBe("caf\ufffd\t!");
    scripted.stop();
  });
});

describe("response headers", () => {
  test("of the provider's headers only those on the list are picked", () => {
    const everything = new Headers({
      "set-cookie": "canary",
      "openai-organization": "canary",
      "anthropic-organization-id": "canary",
      "anthropic-ratelimit-unified-status": "canary",
      "x-ratelimit-remaining-requests": "canary",
      "x-request-id": "canary",
      "request-id": "canary",
      "content-length": "5",
      "content-encoding": "gzip",
      "transfer-encoding": "chunked",
      "x-api-key": "canary",
      "openai-processing-ms": "12",
      "openai-model": "gpt",
    });
    expect(pickResponse(everything)).toEqual({ "openai-processing-ms": "12", "openai-model": "gpt" });
    expect(pickResponse(new Headers())).toEqual({});
  });

  test("not with a value that an answer to the client cannot carry", () => {
    for (const code of [...Array(32).keys(), 127, 256].filter((it) => it !== 9)) {
      const value = `a${String.fromCharCode(code)}b`;
      expect(pickResponse({ get: () => value })).toEqual({});
    }
    for (const value of ["a\tb", "é", "~"]) {
      const headers = pickResponse({ get: (name) => (name === "openai-model" ? value : null) });
      expect(new Response("", { headers }).headers.get("openai-model")).toBe(value);
    }
  });
});

describe("refusals", () => {
  const refused = (headers: Record<string, string>, body: object) => ({
    head: { status: 429, get: (name: string) => new Headers(headers).get(name) },
    text: JSON.stringify(body),
    receivedAtMs: 0,
  });

  test("of most vendors have an error envelope and Retry-After", () => {
    const answer = refused({ "retry-after": "7" }, { error: { message: "slow down", code: "busy" } });
    for (const kind of ["openai", "anthropic", "openai-compatible", "demo"] as const) {
      const reading = createProvider(providerSettings({ kind })).readProviderError(answer);
      expect(reading).toMatchObject({ message: "slow down", code: "busy", retryAfterMs: 7000 });
    }
  });

  test("are read by a vendor that has its own way", () => {
    const reading = { message: "throttled", contextOverflow: false, retryAfterMs: 3000 };
    const own = new HttpProvider(providerSettings({}), {
      pathPrefix: "",
      credential: () => ({}),
      readProviderError: () => reading,
    });
    expect(own.readProviderError(refused({ "retry-after": "7" }, {}))).toEqual(reading);
  });
});
