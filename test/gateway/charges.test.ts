import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { heldInput } from "../support/estimated.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { type Pair, pairs, pairsToTry, talker } from "./pairs.ts";
import { hello, paths, type Said, streamAnswer, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** By the tokenizer: the request of `hello`, the text, and its first two words. */
const helloTokens = 5;
const tokensOfRole = 4;
const text = "Sluices keep the canal navigable.";
const textTokens = 9;
const twoWords = 4;

/** At 1 and 2 USD per million tokens, in nano-credits. */
const nano = (input: number, output: number) => input * 1_000 + output * 2_000;

const models = `
${talker}
[[models]]
id = "unbounded"
provider = "local"
price = { input = 1000000.0, output = 1000000.0 }
`;

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: models });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

async function completed(pair: Pair, stream: boolean, said: Said, more: object = {}) {
  const caller = await world.creditCaller();
  world.provider.script(stream ? streamAnswer(pair.provider, said) : wholeAnswer(pair.provider, said));
  const body = hello(pair.client, pair.model, { ...more, ...(stream ? { stream: true } : {}) });
  const response = await world.ask(caller, { path: paths[pair.client], body });
  expect(response.status).toBe(200);
  const { failure } = await readStream(response);
  expect(failure).toBeNull();
  return world.chargesOf(caller);
}

const measured = (amount: number) => [
  { amount: 0 - amount, basis: "measured" as const, outcome: "completed" as const },
];
const estimated = (amount: number) => [
  { amount: -amount, basis: "estimated" as const, outcome: "completed" as const },
];

/** Nothing of this is a count of tokens. */
const nonsense: readonly unknown[] = [undefined, null, "7", -1, 1.5, true, {}];

/** All of these are, and more than any of the models can read or write. */
const absurd: readonly number[] = [200_001, 1_000_000_000, 1_000_000_001, 2 ** 53 + 2, 1e300];

describe.each(pairsToTry)("$client at $model, which speaks $provider", (pair) => {
  for (const stream of [false, true]) {
    const form = stream ? "stream" : "whole answer";
    const said = (input: unknown, output: unknown): Said => ({
      text,
      usage: usageOf(pair.provider, input, output),
    });

    test(`a ${form} costs what the provider has counted, and an explicit 0 is a figure where nothing was delivered`, async () => {
      expect(await completed(pair, stream, said(100, 20))).toEqual(measured(nano(100, 20)));
      for (const [input, output] of [
        [100, 0],
        [0, 0],
      ] as const) {
        const silent = { text: "", usage: usageOf(pair.provider, input, output) };
        expect(await completed(pair, stream, silent)).toEqual(measured(nano(input, output)));
      }
    });

    test(`a ${form} whose usage is 0 in addition to its text costs the local count`, async () => {
      expect(await completed(pair, stream, said(100, 0))).toEqual(estimated(nano(100, textTokens)));
      expect(await completed(pair, stream, said(0, 20))).toEqual(estimated(nano(helloTokens, 20)));
      expect(await completed(pair, stream, said(0, 0))).toEqual(estimated(nano(helloTokens, textTokens)));
    });

    test(`a ${form} without usage costs the local count`, async () => {
      expect(await completed(pair, stream, { text })).toEqual(estimated(nano(helloTokens, textTokens)));
    });

    test(`a ${form} with half a usage costs that half, and a count of the other`, async () => {
      for (const wrong of nonsense) {
        expect(await completed(pair, stream, said(100, wrong))).toEqual(estimated(nano(100, textTokens)));
        expect(await completed(pair, stream, said(wrong, 20))).toEqual(estimated(nano(helloTokens, 20)));
        expect(await completed(pair, stream, said(wrong, wrong))).toEqual(
          estimated(nano(helloTokens, textTokens)),
        );
      }
    });

    test(`a ${form} that says nothing costs no output, whatever is known of the rest`, async () => {
      const silent = (usage?: object) => ({ text: "", ...(usage === undefined ? {} : { usage }) });
      expect(await completed(pair, stream, silent())).toEqual(estimated(nano(helloTokens, 0)));
      for (const output of [undefined, null, "many"]) {
        const usage = usageOf(pair.provider, 100, output);
        expect(await completed(pair, stream, silent(usage))).toEqual(estimated(nano(100, 0)));
      }
    });

    test(`a ${form} with figures above the window costs what was held for, and never less than the count`, async () => {
      const more = { [pair.client === "responses" ? "max_output_tokens" : "max_tokens"]: 500 };
      const body = hello(pair.client, pair.model, { ...more, ...(stream ? { stream: true } : {}) });
      const heldForInput = heldInput(body as JsonObject);
      const costs = (input: number, output: number) => completed(pair, stream, said(input, output), more);
      for (const figure of absurd) {
        expect(await costs(100, figure)).toEqual(estimated(nano(100, 500)));
        expect(await costs(figure, 20)).toEqual(estimated(nano(heldForInput, 20)));
        expect(await costs(figure, figure)).toEqual(estimated(nano(heldForInput, 500)));
      }
    });

    test(`a ${form} without usage never costs more than was asked for`, async () => {
      const limit = { [pair.client === "responses" ? "max_output_tokens" : "max_tokens"]: 3 };
      expect(await completed(pair, stream, { text: text.repeat(2000) }, limit)).toEqual(
        estimated(nano(helloTokens, 3)),
      );
    });

    test(`a ${form} with more than was asked for costs what the provider has counted`, async () => {
      const limit = { [pair.client === "responses" ? "max_output_tokens" : "max_tokens"]: 3 };
      expect(await completed(pair, stream, said(100, 20), limit)).toEqual(measured(nano(100, 20)));
    });
  }
});

test.each(["𓀀𓂝𓆣𓊹", "7 3 9 1 "])(
  "input of %s that the provider does not report costs its count",
  async (dense) => {
    const content = dense.repeat(400);
    const messages = [{ role: "user", content }];
    const count = await world.gateway.tokens.of("key").text([content]);
    expect(count).toBeGreaterThan(Buffer.byteLength(content) / 2.5);
    const usage = { prompt_tokens: null, completion_tokens: 20 };
    expect(await completed(pairs[0], false, { text, usage }, { messages })).toEqual(
      estimated(nano(count + tokensOfRole, 20)),
    );
  },
);

test("every choice may be as long as was asked for, and no longer in an estimate", async () => {
  const pair = pairs[0];
  for (const stream of [false, true]) {
    const more = { n: 3, max_tokens: 10 };
    const charges = await completed(pair, stream, { text: text.repeat(50) }, more);
    expect(charges).toEqual(estimated(nano(helloTokens, 30)));
  }
});

/** The first two words, and then whatever ends it. */
function cut(pair: Pair, said: Said, then: Answer["steps"]): Answer {
  const events = streamEvents(pair.provider, { ...said, text });
  const second = events.findIndex((event) => event.includes(" keep"));
  return { ...sse(""), steps: [{ write: events.slice(0, second + 1).join("") }, ...then] };
}

const providerOf = {
  "gpt-test": "openai",
  "claude-test": "anthropic",
  "local-test": "local",
  talker: "talking",
} as const;

const early = [
  { name: "no usage so far", said: {}, charge: () => nano(helloTokens, twoWords) },
  {
    name: "a usage at its beginning, without output",
    said: (provider: BodyDialectName) => ({ firstUsage: usageOf(provider, 100, 0) }),
    // Responses has no figures before its end.
    charge: (provider: BodyDialectName) => nano(provider === "responses" ? helloTokens : 100, twoWords),
  },
  {
    name: "a usage at its beginning, with more output than was received",
    said: (provider: BodyDialectName) => ({ firstUsage: usageOf(provider, 100, 30) }),
    charge: (provider: BodyDialectName) =>
      provider === "responses" ? nano(helloTokens, twoWords) : nano(100, 30),
  },
  {
    name: "a usage at its beginning that is no usage",
    said: (provider: BodyDialectName) => ({ firstUsage: usageOf(provider, "many", -3) }),
    charge: () => nano(helloTokens, twoWords),
  },
] as const;

describe.each(pairsToTry)("a stream of $client at $model, which speaks $provider", (pair) => {
  for (const { name, said, charge } of early) {
    const told = typeof said === "function" ? said(pair.provider) : said;
    const amount = -charge(pair.provider);
    const body = hello(pair.client, pair.model, { stream: true });

    test(`that its client leaves costs what was produced, with ${name}`, async () => {
      const caller = await world.creditCaller();
      world.provider.script(cut(pair, { text, ...told }, [{ stall: true }]));
      const reader = new StreamReader(await world.ask(caller, { path: paths[pair.client], body }));
      await reader.until(" keep");
      await reader.cancel();
      expect(await world.chargesOf(caller)).toEqual([{ amount, basis: "estimated", outcome: "cancelled" }]);
      // A cancelled call has no usage record, so its charge alone says who was paid.
      const entries = await world.running.store.listEntries({ afterId: 0, limit: 9, keyId: caller.key.id });
      expect(entries.map(({ provider }) => provider)).toContain(providerOf[pair.model]);
    });

    test(`that breaks off costs what was produced, with ${name}`, async () => {
      const caller = await world.creditCaller();
      world.provider.script(cut(pair, { text, ...told }, [{ reset: true }]));
      await readStream(await world.ask(caller, { path: paths[pair.client], body }));
      expect(await world.chargesOf(caller)).toEqual([{ amount, basis: "estimated", outcome: "failed" }]);
    });
  }

  test("that its client leaves never costs more than was asked for", async () => {
    const caller = await world.creditCaller();
    const limit = { [pair.client === "responses" ? "max_output_tokens" : "max_tokens"]: 3 };
    world.provider.script(cut(pair, { text }, [{ stall: true }]));
    const body = hello(pair.client, pair.model, { stream: true, ...limit });
    const reader = new StreamReader(await world.ask(caller, { path: paths[pair.client], body }));
    await reader.until(" keep");
    await reader.cancel();
    expect(await world.chargesOf(caller)).toEqual([
      { amount: -nano(helloTokens, 3), basis: "estimated", outcome: "cancelled" },
    ]);
  });
});

test("figures that content follows are not the last word, streamed or collected", async () => {
  for (const pair of pairs.filter(({ provider }) => provider === "chat")) {
    for (const output of [0, 1]) {
      const said = { text, firstUsage: usageOf("chat", 100, output) };
      expect(await completed(pair, true, said)).toEqual(estimated(nano(100, textTokens)));
      const caller = await world.creditCaller();
      world.provider.script(streamAnswer("chat", said));
      const response = await world.ask(caller, {
        path: paths[pair.client],
        body: hello(pair.client, pair.model),
      });
      expect(response.status).toBe(200);
      await response.text();
      expect(await world.chargesOf(caller)).toEqual(estimated(nano(100, textTokens)));
    }
  }
});

test("a messages stream whose end has no usage is not charged by what its start said of the output", async () => {
  for (const pair of pairs.filter(({ provider }) => provider === "messages")) {
    const said = { text, firstUsage: usageOf("messages", 100, 1) };
    expect(await completed(pair, true, said)).toEqual(estimated(nano(100, textTokens)));
  }
});

test("cached input that is no count, or more than the input, is charged as input", async () => {
  for (const cached of ["7", -1, 1.5, 101]) {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: cached },
    };
    expect(await completed(pairs[0], false, { text, usage })).toEqual(estimated(nano(100, 20)));
  }
  const details = { cached_tokens: 60, cache_write_tokens: 30 };
  const usage = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: details };
  const amount = 10 * 1_000 + 60 * 100 + 30 * 1_250 + 20 * 2_000;
  expect(await completed(pairs[0], false, { text, usage })).toEqual(measured(amount));
});

describe("a cost beyond every balance", () => {
  const usage = { prompt_tokens: 1_000_000_000, completion_tokens: 1_000_000_000 };
  const asked = { max_tokens: 1 };
  const first = { max_tokens: 1, messages: [{ role: "user", content: "a" }] };

  for (const stream of [false, true]) {
    test(`of a ${stream ? "stream" : "whole answer"} takes the balance, and leaves nothing open`, async () => {
      const caller = await world.creditCaller(1_000);
      world.provider.script(
        stream ? streamAnswer("chat", { text, usage }) : wholeAnswer("chat", { text, usage }),
      );
      const response = await world.ask(caller, {
        path: paths.chat,
        headers: { "idempotency-key": `dear-${stream}` },
        body: { model: "unbounded", ...asked, ...first, stream },
      });
      expect(response.status).toBe(200);
      const { text: body } = await readStream(response);
      expect(body).toContain(stream ? "[DONE]" : "navigable");
      const [charge, overrun] = await world.chargesOf(caller);
      expect(charge).toEqual({ amount: -1_000_000_000_000, basis: "measured", outcome: "completed" });
      expect(overrun?.amount).toBe(4_000_000_000_000_001 - 1_000_000_000_000);
    });
  }
});

describe("max_tokens that nobody can mean", () => {
  test.each([
    ["chat", "max_tokens"],
    ["chat", "max_completion_tokens"],
    ["responses", "max_output_tokens"],
  ] as const)("is refused on %s as %s", async (dialect, name) => {
    const caller = await world.creditCaller();
    for (const value of [Number.MAX_SAFE_INTEGER, 1_000_000_001]) {
      const body = hello(dialect, "unbounded", { [name]: value });
      const response = await world.ask(caller, { path: paths[dialect], body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: name } });
    }
    expect(world.provider.requests).toHaveLength(0);
    expect(await world.chargesOf(caller)).toEqual([]);
  });

  test("is bounded on messages, and then refused for what it may cost", async () => {
    const caller = await world.creditCaller();
    const body = hello("messages", "unbounded", { max_tokens: Number.MAX_SAFE_INTEGER });
    const response = await world.ask(caller, { path: paths.messages, body });
    expect(response.status).toBe(402);
    expect(JSON.stringify(await response.json())).toContain("more than 4000000 credits");
    expect(world.provider.requests).toHaveLength(0);
  });
});
