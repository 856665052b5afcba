import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const head = "[server]\nmax_body_bytes = 2000\nanonymous_rpm = 100000";
  sluice = await startSluice({ config: configFor({ url: provider.url, head }) });
  key = await sluice.createKey();
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
});

beforeEach(() => provider.reset());

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const body = JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] });

/** A request in its own bytes, where a client library would correct what is tried here. */
async function raw(
  line: string,
  headers: readonly string[],
  content = "",
): Promise<{ status: number; text: string }> {
  const head = [`${line} HTTP/1.1`, ...headers].join("\r\n");
  const text = await rawExchange(sluice.url, `${head}\r\n\r\n${content}`, 100);
  return { status: Number(text.slice(9, 12)), text };
}

const bearer = () => `Authorization: Bearer ${key.key}`;

describe("paths", () => {
  test("are those that were asked for, whatever the Host header says", async () => {
    for (const host of ["x", "a.b", "", "localhost:1/v1/models?", "x/v1"]) {
      for (const path of ["/abc/v1/models", "/abc/v1/usage", "/abcdefgh/token/v1/models"]) {
        const { status, text } = await raw(`GET ${path}`, [`Host: ${host}`, bearer()]);
        expect([400, 404], `${host} ${path}`).toContain(status);
        expect(text).not.toContain('"object"');
      }
    }
    expect((await raw("GET /v1/models", ["Host: x"])).status).toBe(200);
  });

  test("are not guessed: other spellings lead nowhere", async () => {
    for (const path of ["//v1/models", "/V1/models", "/v1/%6dodels", "/v1//models", "/token/v1/v1/models"]) {
      expect((await raw(`GET ${path}`, ["Host: example.org"])).status, path).toBe(404);
    }
  });

  test("may carry a query", async () => {
    const { status } = await raw("GET /v1/models?limit=1000&x=/v1/usage", ["Host: example.org"]);
    expect(status).toBe(200);
  });

  test("beside the right ones name them, since a base URL has /v1 or has it not by the client's vendor", async () => {
    for (const [path, right] of [
      ["/chat/completions", "/v1/chat/completions"],
      ["/token/responses", "/token/v1/responses"],
      ["/v1/v1/messages", "/v1/messages"],
      ["/token/v1/v1/messages/count_tokens", "/token/v1/messages/count_tokens"],
    ]) {
      const response = await sluice.request(path ?? "", { body });
      const { error } = (await response.json()) as { error: { message: string } };
      expect(response.status).toBe(404);
      expect(error.message).toStartWith(`Unknown path POST ${path}. Did you mean ${right}? OpenAI clients `);
    }
    const elsewhere = await (await sluice.request("/v1/unknown", { body })).text();
    expect(elsewhere).toContain("Unknown path POST /v1/unknown.");
  });

  test("that nobody knows answer in the format of the client, as its headers tell", async () => {
    const anthropic = { "anthropic-version": "2023-06-01" };
    const typeAt = async (path: string, headers: Record<string, string>) => {
      const response = await sluice.request(path, { headers });
      expect([400, 404], path).toContain(response.status);
      expect(response.headers.has("request-id"), path).toBe("anthropic-version" in headers);
      return ((await response.json()) as { type?: string }).type;
    };
    for (const path of [
      "/v1/skills",
      "/token/v1/skills/x",
      "/v1/chat/completions/x",
      "/nothing",
      "/v1/a\\b",
    ]) {
      expect(await typeAt(path, anthropic), path).toBe("error");
      expect(await typeAt(path, {}), path).toBeUndefined();
    }
  });

  test("say hello to a client that tries the connection before it uses it", async () => {
    for (const path of ["/api/hello", "/token/api/hello"]) {
      expect((await sluice.request(path, { method: "HEAD" })).status).toBe(200);
      expect(await (await sluice.request(path)).json()).toEqual({ message: "hello" });
    }
  });

  test("that clients try and need not have are not found, without a redirect", async () => {
    for (const path of ["/v1/alpha/search", "/v1/images/variations", "/api/event_logging/batch"]) {
      const response = await sluice.request(path, { body, key });
      expect(response.status, path).toBe(404);
    }
  });

  test("list the models in Codex's way for Codex alone, which says its version", async () => {
    const usual = (await (await sluice.request("/v1/models", { key })).json()) as { data: { id: string }[] };
    expect(Object.keys(usual)).toEqual(["object", "data"]);
    const response = await sluice.request("/v1/models?client_version=0.166.0", { key });
    const { models } = (await response.json()) as { models: { slug: string }[] };
    expect(models.map(({ slug }) => slug)).toEqual(usual.data.map(({ id }) => id));
    for (const model of models) {
      expect(model).toMatchObject({
        ...{ display_name: expect.any(String), visibility: "list", supported_in_api: true },
        ...{ supported_reasoning_levels: [], shell_type: "default", priority: expect.any(Number) },
        ...{ support_verbosity: false, experimental_supported_tools: [] },
        truncation_policy: { mode: "bytes", limit: expect.any(Number) },
      });
    }
    // Codex compacts by it.
    expect(models.find(({ slug }) => slug === "claude-test")).toHaveProperty("context_window", 200_000);
    const again = await sluice.request("/v1/models?client_version=0.166.0", { key });
    expect(response.headers.get("etag")).toMatch(/^"[0-9a-f]{64}"$/);
    expect(again.headers.get("etag")).toBe(response.headers.get("etag"));
  });

  test("are those that Claude Code uses, with what it adds to them", async () => {
    const response = await sluice.request("/v1/models?limit=1000", { key });
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { id: string; display_name: string }[] };
    expect(data.find(({ id }) => id === "claude-test")?.display_name).toBeString();
    provider.script(answerFrom("messages/text.json"));
    const ids = { "x-claude-code-session-id": "a", "x-claude-code-agent-id": "b" };
    const asked = await sluice.request("/v1/messages?beta=true", {
      key,
      headers: { ...ids, "anthropic-version": "2023-06-01", "anthropic-canary": "c" },
      body: JSON.stringify({
        model: "claude-test",
        max_tokens: 1,
        messages: [{ role: "user", content: "Hi" }],
      }),
    });
    expect(asked.status).toBe(200);
    expect(provider.requests[0]?.headers["anthropic-canary"]).toBe("c");
  });

  test("that exist answer other methods with 405 and Allow", async () => {
    for (const method of ["OPTIONS", "DELETE", "PUT", "PATCH"]) {
      const { status, text } = await raw(`${method} /v1/chat/completions`, ["Host: example.org"]);
      expect(status).toBe(405);
      expect(text).toMatch(/^allow: POST\r$/im);
      expect(text).toMatch(/^x-request-id: req_/im);
    }
  });
});

describe("bodies", () => {
  test("larger than the limit get a 400 with an envelope, whatever the announced length", async () => {
    for (const length of [2001, 5_000_000, 100_000_000, 9_000_000_000]) {
      const { status, text } = await raw(
        "POST /v1/chat/completions",
        ["Host: a.b", bearer(), `Content-Length: ${length}`],
        "{",
      );
      expect(status, `${length}`).toBe(400);
      expect(text).toContain('"code":"invalid_request"');
      expect(text).toMatch(/^x-request-id: req_/im);
    }
  });

  test("larger than the limit get a 400 also when they announce no length", async () => {
    const chunk = `400\r\n${"x".repeat(1024)}\r\n`;
    const headers = ["Host: a.b", bearer(), "Transfer-Encoding: chunked"];
    const { status, text } = await raw("POST /v1/chat/completions", headers, chunk.repeat(3));
    expect(status).toBe(400);
    expect(text).toContain("too large");
  });

  test("may come in chunks, and reach the provider whole", async () => {
    const half = 30;
    const chunks = [body.slice(0, half), body.slice(half)].map(
      (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
    );
    const headers = ["Host: a.b", bearer(), "Transfer-Encoding: chunked"];
    expect((await raw("POST /v1/chat/completions", headers, `${chunks.join("")}0\r\n\r\n`)).status).toBe(200);
    expect(provider.requests[0]?.text).toBe(body.replace("gpt-test", "gpt-upstream"));
  });

  test("with a length and chunks at once are refused before anything runs", async () => {
    const headers = ["Host: a.b", bearer(), "Content-Length: 3", "Transfer-Encoding: chunked"];
    expect((await raw("POST /v1/chat/completions", headers, `2\r\n{}\r\n0\r\n\r\n`)).status).toBe(400);
    expect(provider.requests).toEqual([]);
  });

  test("are checked whatever the content type says", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      const good = await sluice.request("/v1/chat/completions", {
        key,
        body,
        headers: { "content-type": type },
      });
      expect(good.status, type).toBe(200);
      const bad = await sluice.request("/v1/chat/completions", {
        key,
        body: "a=b",
        headers: { "content-type": type },
      });
      expect(bad.status, type).toBe(400);
    }
  });
});

describe("headers", () => {
  test("of the client reach the provider only where they are allowed to", async () => {
    await sluice.request("/v1/chat/completions", {
      key,
      body,
      headers: {
        cookie: "session=canary",
        "x-forwarded-for": "1.2.3.4",
        "x-canary": "canary",
        "proxy-authorization": "Basic canary",
        "openai-organization": "org-canary",
        host: "evil.example",
      },
    });
    const [seen] = provider.requests;
    expect(seen?.headers["authorization"]).toBe("Bearer sk-upstream-openai-canary");
    for (const name of [
      "cookie",
      "x-forwarded-for",
      "x-canary",
      "proxy-authorization",
      "openai-organization",
    ]) {
      expect(seen?.headers[name], name).toBeUndefined();
    }
    expect(seen?.headers["host"]).toBe(new URL(provider.url).host);
  });

  test("of the provider reach the client only where they are allowed to", async () => {
    provider.script((request) => ({
      status: 200,
      framing: "length",
      before: [],
      headers: {
        "content-type": "application/json",
        "set-cookie": "session=canary",
        "openai-organization": "org-canary",
        "x-ratelimit-remaining-requests": "5",
        "x-request-id": "req_upstream",
        server: "canary",
        authorization: String(request.headers["authorization"]),
      },
      steps: [{ write: '{"id":"x","object":"chat.completion","model":"m","choices":[]}' }],
    }));
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect(response.status).toBe(200);
    expect(JSON.stringify([...response.headers])).not.toContain("canary");
    expect(response.headers.get("x-request-id")).not.toBe("req_upstream");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBeNull();
  });
});
