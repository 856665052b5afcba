import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, anthropicError, json, sse } from "../support/answers.ts";
import { SocketClient } from "../support/socket.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { encodeEvent } from "../vendors/bedrock/encode-message.ts";
import { eventStream } from "../vendors/bedrock/fake-bedrock.ts";
import { chunkOf, usageOf as geminiUsage, streamOf } from "../vendors/gemini/fake-gemini.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** Faults in the money of other gateways that became known in 2026. */

const models = `
[providers.google]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[providers.aws]
kind = "bedrock"
base_url = "PROVIDER_URL/bedrock"
api_key = "env:TEST_BEDROCK_KEY"
region = "eu-west-1"
dialects = ["converse"]

[providers.pool]
kind = "anthropic"
base_url = "PROVIDER_URL/pool"
api_key = ["env:TEST_ANTHROPIC_KEY", "env:TEST_OPENAI_KEY"]

[[models]]
id = "pooled"
provider = "pool"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }

[[models]]
id = "on-google"
provider = "google"
upstream_model = "gemini-3.1-pro-preview"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }

[[models]]
id = "on-aws"
provider = "aws"
upstream_model = "amazon.nova-2-lite-v1:0"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }

[[models]]
id = "fast"
provider = "anthropic"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25, tiers = { fast = { input = 6.0, output = 12.0, cached_input = 0.6, cache_write = 7.5 } } }

[[models]]
id = "free"
provider = "local"
context_window = 200000
max_output_tokens = 4096
price = { input = 0, output = 0 }
fallbacks = ["gpt-test"]
`;

const text = "Sluices keep the canal navigable.";
const [helloTokens, textTokens] = [5, 9];
/** At 1, 2, 0.1 and 1.25 USD per million tokens, in nano-credits. */
const nano = (input: number, output: number, cached = 0, written = 0) =>
  input * 1_000 + output * 2_000 + cached * 100 + written * 1_250;

const completed = (amount: number, basis: "measured" | "estimated" = "measured") => [
  { amount: -amount, basis, outcome: "completed" as const },
];

async function answered(world: World, caller: Caller, path: string, body: object): Promise<Response> {
  const response = await world.ask(caller, { path, body });
  expect(response.status).toBe(200);
  await response.text();
  return response;
}

onBothStores(models, (world) => {
  test.each([true, false])(
    "usage in a chunk whose choices are not empty is read (with the finish: %p)",
    async (atFinish) => {
      const caller = await world().creditCaller();
      const events = streamEvents("chat", { text });
      const place = atFinish ? -2 : -3;
      const usage = `,"usage":${JSON.stringify(usageOf("chat", 100, 20))}}\n\n`;
      const event = events.at(place) ?? "";
      expect(event).toContain('"choices":[{');
      // A later chunk without usage does not take it back.
      world().provider.script(sse(events.with(place, event.replace(/}\n\n$/, usage)).join("")));
      await answered(world(), caller, paths.chat, hello("chat", "gpt-test", { stream: true }));
      const charges = await world().chargesOf(caller);
      // What is reported before the finish may lack output.
      expect(charges).toMatchObject([{ amount: -nano(100, 20), outcome: "completed" }]);
      if (atFinish) expect(charges).toEqual(completed(nano(100, 20)));
    },
  );

  test.each(["chat", "messages"] as const)(
    "zero usage and then a disconnect costs the local count (%s)",
    async (dialect) => {
      const caller = await world().creditCaller();
      const firstUsage = usageOf(dialect, 0, 0);
      const events = streamEvents(dialect, { text, firstUsage });
      const cut = events.findIndex((event) => event.includes("navigable.")) + 1;
      world().provider.script({
        ...sse(""),
        steps: [{ write: events.slice(0, cut).join("") }, { stall: true }],
      });
      const model = dialect === "chat" ? "gpt-test" : "claude-test";
      const body = hello(dialect, model, { stream: true });
      const reader = new StreamReader(await world().ask(caller, { path: paths[dialect], body }));
      await reader.until("navigable.");
      await reader.cancel();
      expect(await world().chargesOf(caller)).toEqual([
        { amount: -nano(helloTokens, textTokens), basis: "estimated", outcome: "cancelled" },
      ]);
    },
  );

  test("zero usage in every chunk and then a disconnect costs the local count", async () => {
    const caller = await world().creditCaller();
    const zeros = `,"usage":${JSON.stringify(usageOf("chat", 0, 0))}}\n\n`;
    const events = streamEvents("chat", { text }).map((event) => event.replace(/}\n\n$/, zeros));
    const cut = events.findIndex((event) => event.includes("navigable.")) + 1;
    world().provider.script({
      ...sse(""),
      steps: [{ write: events.slice(0, cut).join("") }, { stall: true }],
    });
    const body = hello("chat", "gpt-test", { stream: true });
    const reader = new StreamReader(await world().ask(caller, { path: paths.chat, body }));
    await reader.until("navigable.");
    await reader.cancel();
    expect(await world().chargesOf(caller)).toEqual([
      { amount: -nano(helloTokens, textTokens), basis: "estimated", outcome: "cancelled" },
    ]);
  });

  test("cached image tokens of Gemini are counted once", async () => {
    const usage = geminiUsage(1_000, 20, 0, {
      cachedContentTokenCount: 800,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 100 },
        { modality: "IMAGE", tokenCount: 900 },
      ],
      cacheTokensDetails: [{ modality: "IMAGE", tokenCount: 800 }],
    });
    for (const stream of [false, true]) {
      const caller = await world().creditCaller();
      const answer = chunkOf([{ text }], usage, "STOP") as JsonObject;
      world().provider.script(stream ? sse(streamOf([answer])) : json(answer));
      await answered(world(), caller, paths.chat, hello("chat", "on-google", { stream }));
      expect(await world().chargesOf(caller)).toEqual(completed(nano(200, 20, 800)));
    }
  });

  test("a fast mode has its own rates for the cache", async () => {
    const caller = await world().creditCaller();
    const usage = {
      ...{ input_tokens: 10, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 2_000 },
      ...{ output_tokens: 20, speed: "fast" },
    };
    world().provider.script(wholeAnswer("messages", { text, usage }));
    await answered(
      world(),
      caller,
      paths.messages,
      hello("messages", "fast", { max_tokens: 100, speed: "fast" }),
    );
    const expected = 10 * 6_000 + 1_000 * 600 + 2_000 * 7_500 + 20 * 12_000;
    expect(await world().chargesOf(caller)).toEqual(completed(expected));
  });

  test("a free model with a paid fallback is held and charged by the fallback's price", async () => {
    const fails = json({ error: { message: "down", type: "server_error" } }, { status: 500 });
    const pays = wholeAnswer("chat", { text, usage: usageOf("chat", 100, 20) });
    world().provider.script(({ path }) => (path.startsWith("/local") ? fails : pays));
    const caller = await world().creditCaller();
    await answered(world(), caller, paths.chat, hello("chat", "free", { max_tokens: 50 }));
    expect(await world().chargesOf(caller)).toEqual(completed(nano(100, 20)));
    const poor = await world().creditCaller(0);
    const refused = await world().ask(poor, {
      path: paths.chat,
      body: hello("chat", "free", { max_tokens: 50 }),
    });
    expect(refused.status).not.toBe(200);
    // The fallback is not asked for a key that cannot pay for it.
    expect(world().provider.requests.filter(({ path }) => path.startsWith("/openai"))).toHaveLength(1);
    expect(await world().chargesOf(poor)).toEqual([]);
  });

  test("Responses over a WebSocket are charged with their details of cache and reasoning", async () => {
    const caller = await world().creditCaller();
    const usage = {
      ...{ input_tokens: 1_000, input_tokens_details: { cached_tokens: 900 } },
      ...{ output_tokens: 300, output_tokens_details: { reasoning_tokens: 250 }, total_tokens: 1_300 },
    };
    world().provider.script(sse(streamEvents("responses", { text, usage }).join("")));
    const socket = await SocketClient.open(world().running.url, caller.secret, { path: "/v1/responses" });
    const frame = await socket.ask({ model: "gpt-test", input: "Hello" });
    socket[Symbol.dispose]();
    expect(frame.type).toBe("response.completed");
    expect(await world().chargesOf(caller)).toEqual(completed(nano(100, 300, 900)));
  });

  test("a 400 for the account's usage limits rests the credential, and another one answers", async () => {
    const message =
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.";
    const limited = anthropicError(400, "invalid_request_error", message);
    const fine = wholeAnswer("messages", { text, usage: usageOf("messages", 100, 20) });
    const used: (string | undefined)[] = [];
    world().provider.script(({ headers }) => {
      used.push(headers["x-api-key"]);
      return headers["x-api-key"] === used[0] ? limited : fine;
    });
    const caller = await world().creditCaller();
    for (let times = 0; times < 3; times += 1)
      await answered(world(), caller, paths.messages, hello("messages", "pooled", { max_tokens: 50 }));
    // The first is asked once, and not again while it rests.
    expect(used.filter((key) => key === used[0])).toHaveLength(1);
    expect(used).toHaveLength(4);
    expect(await world().chargesOf(caller)).toHaveLength(3);
  });

  test("a Bedrock stream that is left ends at the provider", async () => {
    const caller = await world().creditCaller();
    const begun = encodeEvent("messageStart", { role: "assistant" });
    const delta = encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Sluices " } });
    const more = Array.from({ length: 200 }, () => [{ sleepMs: 20 }, { write: delta }]).flat();
    const steps: Answer["steps"] = [{ write: begun }, { write: delta }, ...more];
    world().provider.script({ ...eventStream(), steps });
    const body = hello("chat", "on-aws", { stream: true });
    const reader = new StreamReader(await world().ask(caller, { path: paths.chat, body }));
    await reader.until("Sluices");
    await reader.cancel();
    await waitFor(() => world().provider.aborted.length === 1, "the provider to be stopped");
    const [request] = world().provider.aborted;
    expect((request?.abortedAtMs ?? 0) - (request?.startedAtMs ?? 0)).toBeLessThan(2_000);
    expect(await world().chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }]);
  });

  test.each(["messages", "chat"] as const)(
    "cache writes of 159,000 tokens in addition to 6 fresh ones are charged (%s client)",
    async (client) => {
      const usage = {
        input_tokens: 6,
        cache_creation_input_tokens: 159_000,
        cache_read_input_tokens: 0,
        output_tokens: 20,
      };
      for (const stream of [false, true]) {
        const caller = await world().creditCaller();
        const said = { text, usage, firstUsage: { ...usage, output_tokens: 1 } };
        world().provider.script(
          stream ? sse(streamEvents("messages", said).join("")) : wholeAnswer("messages", said),
        );
        await answered(
          world(),
          caller,
          paths[client],
          hello(client, "claude-test", { stream, max_tokens: 100 }),
        );
        expect(await world().chargesOf(caller)).toEqual(completed(nano(6, 20, 0, 159_000)));
      }
    },
  );
});
