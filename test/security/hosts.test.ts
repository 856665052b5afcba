import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Answer, redirect } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

/**
 * Invariant 14: a client never chooses a host, and a provider cannot send the gateway elsewhere. A second
 * server stands where all the tricks point to; nothing may ever connect to it.
 */
let provider: ScriptedProvider;
let trap: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  trap = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url }),
    // What a machine's environment says about proxies is no client's choice, but must not divert local calls.
    env: { HTTP_PROXY: trap.url, http_proxy: trap.url, ALL_PROXY: trap.url },
  });
  key = await sluice.createKey();
});
beforeEach(() => {
  provider.reset();
  trap.reset();
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
  trap.stop();
});

const messages = [{ role: "user", content: "Hello" }];

function expectUntouched(): void {
  expect(trap.requests).toEqual([]);
  expect(trap.openConnections).toBe(0);
}

describe("a client cannot choose a host", () => {
  test("with the request's target or its Host", async () => {
    const body = JSON.stringify({ model: "gpt-test", messages });
    const { host } = new URL(trap.url);
    const tricks: [string, string][] = [
      [`${trap.url}/v1/chat/completions`, host],
      [`${trap.url}/v1/chat/completions`, "localhost"],
      ["/v1/chat/completions", host],
      [`//${host}/v1/chat/completions`, "localhost"],
      [`/v1/chat/completions?url=${trap.url}&base_url=${trap.url}`, "localhost"],
      [`/v1/chat/completions@${host}`, "localhost"],
      [`/${trap.url}/v1/chat/completions`, "localhost"],
    ];
    for (const [target, hostHeader] of tricks) {
      const head = `POST ${target} HTTP/1.1\r\nHost: ${hostHeader}\r\nAuthorization: Bearer ${key.key}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
      await rawExchange(sluice.url, head + body, 60);
    }
    await rawExchange(sluice.url, `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 60);
    for (const request of provider.requests) expect(request.path).toBe("/openai/v1/chat/completions");
    expectUntouched();
  });

  test("with the model's name", async () => {
    const { host } = new URL(trap.url);
    for (const model of [
      trap.url,
      `${trap.url}/gpt-test`,
      "../../gpt-test",
      "gpt-test/../../x",
      "gpt-test?x=1",
      "gpt-test#x",
      "gpt-test\r\nHost: x",
      "gpt-upstream",
      "openai/gpt-upstream",
      `//${host}`,
      "__proto__",
      "constructor",
      "toString",
      " gpt-test",
      "GPT-TEST",
      "gpt-test\u0000",
    ]) {
      for (const [path, more] of [
        ["/v1/chat/completions", { messages }],
        ["/v1/responses", { input: "Hello" }],
        ["/v1/messages", { messages }],
        ["/v1/messages/count_tokens", { messages }],
      ] as const) {
        const response = await sluice.request(path, { key, body: { model, ...more } });
        expect(response.status, `${path} ${JSON.stringify(model)}`).toBe(404);
      }
    }
    expect(provider.requests).toEqual([]);
    expectUntouched();
  });

  test("nor another model, with a field that some providers take for a list of models", async () => {
    const body = { model: "local-test", messages, fallbacks: ["claude-test"] };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect(response.status).toBe(400);
    expect(provider.requests).toHaveLength(0);
  });

  test("not even the provider's, with fields by which routers choose who answers", async () => {
    for (const field of ["base_url", "api_base", "provider", "custom_llm_provider"]) {
      provider.reset();
      const body = { model: "local-test", messages, [field]: trap.url };
      const response = await sluice.request("/v1/chat/completions", { key, body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: field } });
      expect(provider.requests).toHaveLength(0);
    }
    expectUntouched();
  });

  test("with fields or headers that other gateways listen to", async () => {
    const fields = {
      api_key: "sk-mine",
      upstream_model: "mine",
      deployment: "mine",
      webhook_url: trap.url,
      callback: trap.url,
    };
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", messages, ...fields },
      headers: {
        "x-base-url": trap.url,
        "x-portkey-custom-host": trap.url,
        "x-upstream-url": trap.url,
        "x-forwarded-host": new URL(trap.url).host,
        "x-provider": "mine",
      },
    });
    expect(response.status).toBe(200);
    const [seen] = provider.requests;
    expect(seen?.body["model"]).toBe("gpt-upstream");
    expect(seen?.headers["authorization"]).toBe("Bearer sk-upstream-openai-canary");
    expect(JSON.stringify(seen?.headers)).not.toContain("mine");
    expectUntouched();
  });

  test("with the address of an image or a file: those are the provider's to fetch, never ours", async () => {
    const image = `${trap.url}/image.png`;
    const chat = [{ role: "user", content: [{ type: "image_url", image_url: { url: image } }] }];
    const input = [{ role: "user", content: [{ type: "input_image", image_url: image }] }];
    const native = [
      { role: "user", content: [{ type: "image", source: { type: "url", url: image } }] },
      { role: "user", content: [{ type: "document", source: { type: "url", url: `${trap.url}/x.pdf` } }] },
    ];
    for (const model of ["gpt-test", "claude-test"]) {
      await sluice.request("/v1/chat/completions", { key, body: { model, messages: chat } });
      await sluice.request("/v1/responses", { key, body: { model, input } });
      await sluice.request("/v1/messages", { key, body: { model, messages: native } });
      await sluice.request("/v1/messages/count_tokens", { key, body: { model, messages: native } });
    }
    expect(provider.requests.length).toBeGreaterThan(0);
    expectUntouched();
  });
});

describe("a provider cannot send the gateway elsewhere", () => {
  const moves: readonly [string, () => Answer][] = [
    ...[301, 302, 303, 307, 308].map((status): [string, () => Answer] => [
      `a ${status}`,
      () => ({ ...redirect(`${trap.url}/openai/v1/chat/completions`), status }),
    ]),
    [
      "a Refresh and a Content-Location",
      () => ({
        ...redirect(trap.url),
        status: 200,
        headers: { refresh: `0;url=${trap.url}`, "content-location": trap.url, "content-type": "text/html" },
      }),
    ],
    [
      "an Alt-Svc",
      () => ({
        ...redirect(trap.url),
        status: 500,
        headers: { "alt-svc": `h2="${new URL(trap.url).host}"`, "content-type": "application/json" },
      }),
    ],
  ];
  test.each([...moves])("with %s", async (_what, answer) => {
    await sluice.stop();
    await sluice.restart();
    provider.script(answer());
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", messages },
    });
    expect(response.status).toBe(502);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.text()).not.toContain(new URL(trap.url).host);
    expectUntouched();
  });
});
