import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "bun";
import { cutBefore, sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({
      url: provider.url,
      head: "[server]\nmax_body_bytes = 100000\nclient_idle_timeout = 1",
      tail: '[providers.demo]\nkind = "demo"\n[[models]]\nid = "demo"\nprovider = "demo"\nprice = { input = 1.0, output = 2.0 }\n',
    }),
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

async function creditsOf(key: TestKey): Promise<{ used: number; reserved: number }> {
  const summary = await (await sluice.request("/v1/usage", { key })).json();
  return (summary as { credits: { used: number; reserved: number } }).credits;
}

function rawRequest(key: TestKey, body: string, headers = ""): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key.key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}

/** The client ended the key's only generation request, so the request does not count as failed. */
async function expectLoggedAsLeft({ prefix }: TestKey): Promise<void> {
  const ofKey = `"key":"${prefix}","route":"/v1/chat/completions"`;
  await waitFor(() => sluice.output.includes(ofKey), "the exchange to be logged");
  const lines = sluice.output.split("\n").filter((line) => line.includes(ofKey));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"level":30');
  expect(lines[0]).toContain('"status":499,"outcome":"cancelled"');
  expect(lines[0]).not.toContain('"error"');
}

/** Of `ask`, by the tokenizer. */
const askedTokens = 5;

async function countedTokens(key: TestKey): Promise<number> {
  const { model, messages } = ask;
  const body = { model, messages };
  const response = await sluice.request("/v1/messages/count_tokens", { key, body });
  return ((await response.json()) as { input_tokens: number }).input_tokens;
}

describe("a client that", () => {
  test("leaves in the middle of its body has had no effect", async () => {
    const key = await sluice.createKey();
    const socket = await openSocket();
    socket.write(rawRequest(key, JSON.stringify(ask)).slice(0, -20));
    await Bun.sleep(50);
    socket.terminate();
    await expectLoggedAsLeft(key);
    expect(await creditsOf(key)).toMatchObject({ used: 0, reserved: 0 });
    expect(provider.requests).toHaveLength(0);
  });

  test("leaves after the hold, before content, pays nothing, and the provider is told at once", async () => {
    const key = await sluice.createKey();
    provider.script({ ...sse(""), before: [{ stall: true }] });
    const socket = await openSocket();
    socket.write(rawRequest(key, JSON.stringify({ ...ask, stream: true })));
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    expect((await creditsOf(key)).reserved).toBeGreaterThan(0);
    socket.terminate();
    await waitFor(() => provider.aborted.length === 1, "the provider to be told");
    await waitFor(async () => (await creditsOf(key)).reserved === 0, "the hold to end");
    expect((await creditsOf(key)).used).toBe(0);
    await expectLoggedAsLeft(key);
  });

  test("leaves mid-stream pays for what was produced, and the provider is told at once", async () => {
    const key = await sluice.createKey();
    // The first cancelled call of a process does not wait for the tokenizer, and costs less (first-cancel.test.ts).
    await waitFor(async () => (await countedTokens(key)) === askedTokens, "the tokenizer to be loaded");
    provider.script(cutBefore(answerFrom("chat/text.sse"), '" the"', [{ stall: true }]));
    const reader = new StreamReader(
      await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
    );
    await reader.until(" keep");
    await reader.cancel();
    await waitFor(() => provider.aborted.length === 1, "the provider to be told");
    await waitFor(async () => (await creditsOf(key)).reserved === 0, "the hold to end");
    // By the tokenizer, 4 tokens were answered.
    expect((await creditsOf(key)).used).toBe((askedTokens * 1 + 4 * 2) / 1_000_000);
  });

  test("stops reading makes the gateway stop reading, and is cut off in the end", async () => {
    const key = await sluice.createKey();
    const filler = `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(60_000)}"},"finish_reason":null}]}\n\n`;
    // 240 MB, because the kernel may take 33 MB for each of the sockets on the way.
    provider.script({ ...sse(""), steps: Array.from({ length: 4000 }, () => ({ write: filler })) });
    const socket = await openSocket();
    socket.pause();
    socket.write(rawRequest(key, JSON.stringify({ ...ask, stream: true })));
    await waitFor(() => provider.aborted.length === 1, "the gateway to give up", 60_000);
    await waitFor(async () => (await creditsOf(key)).reserved === 0, "the hold to end");
    // Far more than the model's 4096 tokens came: what was not counted by the provider costs no more than those.
    expect((await creditsOf(key)).used).toBe((5 * 1 + 4096 * 2) / 1_000_000);
    socket.terminate();
  }, 120_000);

  test.each(["gpt-test", "demo"])(
    "pipelines requests to %s is cut off by the runtime, and not charged for what it does not get",
    async (model) => {
      const key = await sluice.createKey();
      const one = rawRequest(key, JSON.stringify({ ...ask, model }));
      for (let round = 0; round < 20; round += 1) {
        expect(await rawExchange(sluice.url, one + one, 50)).toBe("");
        await waitFor(async () => (await creditsOf(key)).reserved === 0, "the hold to end");
      }
      expect(await creditsOf(key)).toMatchObject({ used: 0, reserved: 0 });
      expect(provider.requests.length).toBeLessThanOrEqual(20);
    },
  );

  test("leaves before a whole answer comes finds it under its idempotency key, charged once", async () => {
    const key = await sluice.createKey();
    const { promise: mayRespond, resolve: answer } = Promise.withResolvers<void>();
    provider.script(async () => {
      await mayRespond;
      return answerFrom("chat/text.json");
    });
    const socket = await openSocket();
    socket.write(rawRequest(key, JSON.stringify(ask), "Idempotency-Key: gone\r\n"));
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    socket.terminate();
    answer();
    await waitFor(async () => (await creditsOf(key)).reserved === 0, "the hold to end");
    const { used } = await creditsOf(key);
    const headers = { "idempotency-key": "gone" };
    const again = () => sluice.request("/v1/chat/completions", { key, body: JSON.stringify(ask), headers });
    let retry = await again();
    // Its claim ends a moment after its hold.
    await waitFor(async () => {
      if (retry.status === 409) retry = await again();
      return retry.status !== 409;
    }, "the claim to end");
    expect(retry.status).toBe(200);
    // What the provider had not answered by then was given up, and runs again.
    const wasKept = retry.headers.get("idempotent-replayed") === "true";
    expect(used > 0).toBe(wasKept);
    expect(provider.requests).toHaveLength(wasKept ? 1 : 2);
  });

  test.each([
    ["is too large", "x".repeat(100_001)],
    ["is not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["is nested too deep", `{"model":"gpt-test","messages":${"[".repeat(100)}${"]".repeat(100)}}`],
    ["says NaN", '{"model":"gpt-test","messages":[{"role":"user","content":"x"}],"max_tokens":NaN}'],
    [
      "has an integer beyond 2^53",
      '{"model":"gpt-test","messages":[{"role":"user","content":"x"}],"max_tokens":9007199254740993}',
    ],
    ["is empty", ""],
  ])("sends a body that %s gets 400 and no hold", async (_what, body) => {
    const key = await sluice.createKey();
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request" } });
    expect(provider.requests).toHaveLength(0);
    expect(await creditsOf(key)).toMatchObject({ used: 0, reserved: 0 });
  });

  test("sends a body without a length that grows too large is refused", async () => {
    const key = await sluice.createKey();
    const piece = new TextEncoder().encode("x".repeat(30_000));
    const body = new ReadableStream({
      async start(controller) {
        for (let index = 0; index < 5; index += 1) controller.enqueue(piece);
        controller.close();
      },
    });
    const response = await fetch(`${sluice.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.key}` },
      body,
    });
    expect(response.status).toBe(400);
  });
});

function openSocket(): Promise<Socket> {
  const { hostname, port } = new URL(sluice.url);
  return Bun.connect({ hostname, port: Number(port), socket: { data() {}, error() {} } });
}
