import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, json, sse } from "../support/answers.ts";
import { readStream } from "../support/sse.ts";
import { type Pair, pairs, talker, translatedPairs } from "./pairs.ts";
import { hello, paths, type Said, streamEvents, usageOf } from "./wire-answers.ts";
import { World } from "./world.ts";

/** By the tokenizer: the request of `hello`, and the text. */
const helloTokens = 5;
const text = "Sluices keep the canal navigable.";
const textTokens = 9;
const cost = (input: number, output: number) => -(input * 1_000 + output * 2_000);

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** Usage in the middle of a stream; Responses does not have any. */
function midway({ provider }: Pair, usage: unknown): string {
  if (provider === "chat") return `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
  return `event: message_delta\ndata: ${JSON.stringify({ type: "message_delta", delta: {}, usage })}\n\n`;
}

/** The figures come before the text and at its end. */
function twice(pair: Pair, first: unknown, said: Omit<Said, "text">): readonly string[] {
  const events = streamEvents(pair.provider, { text, ...said });
  return [events[0] ?? "", midway(pair, first), ...events.slice(1)];
}

function failing(usage: unknown): string {
  const error = { type: "server_error", message: "It broke." };
  return `event: error\ndata: ${JSON.stringify({ type: "error", error, usage })}\n\n`;
}

async function chargesFor(pair: Pair, answer: Answer, stream = true) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  const body = hello(pair.client, pair.model, stream ? { stream } : {});
  const { text: received } = await readStream(await world.ask(caller, { path: paths[pair.client], body }));
  return { received, charges: await world.chargesOf(caller) };
}

type Charges = Awaited<ReturnType<typeof chargesFor>>["charges"];
const measured = (amount: number): Charges => [{ amount, basis: "measured", outcome: "completed" }];
const estimated = (amount: number): Charges => [{ amount, basis: "estimated", outcome: "completed" }];

const reporting: readonly Pair[] = pairs.filter(({ provider }) => provider !== "responses");

describe.each(reporting)("$client at $model, which speaks $provider", (pair) => {
  const figures = (input: unknown, output: unknown) => usageOf(pair.provider, input, output);

  for (const stream of [true, false]) {
    const form = stream ? "a stream" : "a stream that nobody asked for";

    test(`${form} costs the most output that it has reported, and the last input`, async () => {
      for (const [first, last, charged] of [
        [figures(100, 20), figures(100, 30), cost(100, 30)],
        [figures(100, 30), figures(0, 40), cost(100, 40)],
        [figures(100, 30), figures(0, 0), cost(100, 30)],
        [figures(100, 30), figures(100, 20), cost(100, 30)],
        [figures(100, 30), figures(100, 0), cost(100, 30)],
        [figures(90, 30), figures(100, 20), cost(100, 30)],
        [figures(100, 30), figures(90, 20), cost(90, 30)],
      ] as const) {
        const answer = sse(twice(pair, first, { usage: last }).join(""));
        expect((await chargesFor(pair, answer, stream)).charges).toEqual(measured(charged));
      }
    });

    test(`${form} with a later figure that is none costs a count, and no less than was reported`, async () => {
      for (const [output, charged] of [
        [30, 30],
        [3, textTokens],
      ] as const) {
        const answer = sse(twice(pair, figures(100, output), { usage: figures(100, "many") }).join(""));
        expect((await chargesFor(pair, answer, stream)).charges).toEqual(estimated(cost(100, charged)));
      }
    });
  }

  for (const stream of [true, false]) {
    const form = stream ? "a stream" : "a stream that nobody asked for";

    test(`${form} that ends with an error costs the most output that it has reported, and the last input`, async () => {
      for (const [first, last, charged] of [
        [figures(100, 30), figures(100, 40), cost(100, 40)],
        [figures(100, 30), figures(100, 5), cost(100, 30)],
        [figures(100, 30), figures(100, 0), cost(100, 30)],
        [figures(90, 30), figures(100, 5), cost(100, 30)],
        [figures(100, 30), figures(90, 5), cost(90, 30)],
        [figures(100, 30), figures(0, 40), cost(100, 40)],
      ] as const) {
        const events = [...twice(pair, first, {}).slice(0, -3), failing(last)];
        const { received, charges } = await chargesFor(pair, sse(events.join("")), stream);
        expect(received).toContain("It broke.");
        expect(charges).toEqual([{ amount: charged, basis: "measured", outcome: "failed" }]);
      }
    });
  }

  test("a stream that breaks off after figures and before any text costs the output that they report", async () => {
    for (const [usage, charges] of [
      [figures(100, 0), []],
      [figures(100, 7), [{ amount: cost(100, 7), basis: "estimated", outcome: "failed" }]],
    ] as const satisfies readonly (readonly [unknown, Charges])[]) {
      const events = twice(pair, usage, {}).slice(0, 2).join("");
      const answer = { ...sse(""), steps: [{ write: events }, { reset: true as const }] };
      expect((await chargesFor(pair, answer)).charges).toEqual([...charges] as Charges);
    }
  });
});

test.each(translatedPairs.filter(({ provider }) => provider !== "responses"))(
  "a $client client of $model is shown what it is charged",
  async (pair) => {
    const caller = await world.creditCaller();
    const [more, less] = [usageOf(pair.provider, 100, 30), usageOf(pair.provider, 100, 20)];
    world.provider.script(sse(twice(pair, more, { usage: less }).join("")));
    const asked = pair.client === "chat" ? { stream_options: { include_usage: true } } : {};
    const body = hello(pair.client, pair.model, { stream: true, ...asked });
    const { text: received } = await readStream(await world.ask(caller, { path: paths[pair.client], body }));
    expect(received).toMatch(/"(completion|output)_tokens":30/);
    expect(received).not.toMatch(/"(completion|output)_tokens":20/);
  },
);

describe.each(pairs)("$client at $model, which speaks $provider: text and an error", (pair) => {
  const figures = (input: number, output: number) => usageOf(pair.provider, input, output);
  const failed = (amount: number) => [{ amount, basis: "estimated" as const, outcome: "failed" as const }];
  const chargesOf = async (events: readonly string[]) =>
    (await chargesFor(pair, sse(events.join("")))).charges;
  const told = streamEvents(pair.provider, { text }).slice(0, pair.provider === "responses" ? -1 : -2);

  test("that reports no output costs the text", async () => {
    expect(await chargesOf([...told, failing(figures(0, 0))])).toEqual(failed(cost(helloTokens, textTokens)));
    expect(await chargesOf([...told, failing(figures(100, 0))])).toEqual(failed(cost(100, textTokens)));
  });

  test("that reports nothing, behind figures of nothing, costs the text", async () => {
    if (pair.provider === "responses") return;
    const zeros = twice(pair, figures(0, 0), {}).slice(0, told.length + 1);
    const error = failing(undefined);
    expect(await chargesOf([...zeros, error])).toEqual(failed(cost(helloTokens, textTokens)));
  });

  test("that reports nothing before any text costs nothing", async () => {
    const [first = ""] = streamEvents(pair.provider, { text, firstUsage: figures(100, 0) });
    for (const event of [told[0] ?? "", first]) {
      const answer = sse(event + failing(figures(0, 0)));
      expect((await chargesFor(pair, answer)).charges).toEqual([]);
      expect((await chargesFor(pair, answer, false)).charges).toEqual([]);
    }
  });
});

test.each(pairs.filter(({ provider }) => provider === "responses"))(
  "a response to $client that fails, and reports no output, costs the text that was streamed",
  async (pair) => {
    for (const [input, output, charged] of [
      [0, 0, cost(helloTokens, textTokens)],
      [100, 0, cost(100, textTokens)],
    ] as const) {
      const response = {
        id: "resp_up",
        status: "failed",
        error: { code: "server_error", message: "It broke." },
        usage: usageOf("responses", input, output),
      };
      const end = `data: ${JSON.stringify({ type: "response.failed", response })}\n\n`;
      const events = [...streamEvents("responses", { text }).slice(0, -1), end];
      const { charges } = await chargesFor(pair, sse(events.join("")));
      expect(charges).toEqual([{ amount: charged, basis: "estimated", outcome: "failed" }]);
    }
  },
);

const anthropic: readonly Pair[] = pairs.filter(({ provider }) => provider === "messages");

describe.each(anthropic)("$client at $model: the figures of message_start", (pair) => {
  const started = { input_tokens: 100, cache_creation_input_tokens: 40, output_tokens: 1 };
  const chargeOf = async (usage: unknown) => {
    const answer = sse(streamEvents("messages", { text, firstUsage: started, usage }).join(""));
    return (await chargesFor(pair, answer)).charges;
  };
  /** A cache's writes cost a quarter more. */
  const input = cost(100, 0) - 40 * 1_250;

  test("are not the output of a message_delta that has none", async () => {
    for (const usage of [{}, { input_tokens: 100 }, { output_tokens: null }]) {
      expect(await chargeOf(usage)).toEqual(estimated(input - textTokens * 2_000));
    }
  });

  test("are the input of a message_delta that fills in zeros, and of no other", async () => {
    const zeros = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const byAge = { cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 } };
    expect(await chargeOf({ output_tokens: 20 })).toEqual(measured(input - 40_000));
    expect(await chargeOf({ ...zeros, ...byAge, output_tokens: 20 })).toEqual(measured(input - 40_000));
    const cached = { ...zeros, cache_read_input_tokens: 140, output_tokens: 20 };
    expect(await chargeOf(cached)).toEqual(measured(-140 * 100 - 40_000));
  });

  test("are replaced by what cannot be read, and counted then", async () => {
    const wrong = { input_tokens: "many", cache_creation_input_tokens: 0, output_tokens: 20 };
    expect(await chargeOf(wrong)).toEqual(estimated(cost(helloTokens, 20)));
  });
});

test("figures that each choice has of its own are the sum of its output", async () => {
  const choice = (index: number, content: string, output: number) => ({
    index,
    finish_reason: "stop",
    delta: { content },
    message: { role: "assistant", content },
    usage: { prompt_tokens: 100, completion_tokens: output },
  });
  const [one, other] = [choice(0, "Sluices.", 30), choice(1, "Locks.", 20)];
  const unnumbered = ({ index: _, ...rest }: typeof one) => rest;
  const chunk = (...choices: unknown[]) => `data: ${JSON.stringify({ choices })}\n\n`;
  const [chat] = pairs;
  for (const [answer, stream] of [
    [sse(`${chunk(one)}${chunk(other)}data: [DONE]\n\n`), true],
    [sse(`${chunk(one, other)}data: [DONE]\n\n`), true],
    [sse(`${chunk(one)}${chunk(one)}${chunk(other)}data: [DONE]\n\n`), true],
    [sse(`${chunk(one)}${chunk(unnumbered(one))}${chunk(other)}data: [DONE]\n\n`), true],
    [json({ choices: [one, other] }), false],
    [json({ choices: [unnumbered(one), unnumbered(other)] }), false],
    [json({ choices: [one, { ...other, index: 0 }] }), false],
  ] as const) {
    expect((await chargesFor(chat, answer, stream)).charges).toEqual(measured(cost(100, 50)));
  }
});
