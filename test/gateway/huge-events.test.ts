import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { maxParsedValues } from "../../src/dialects/json/json-bytes.ts";
import { providerDialect, providerDialectNames } from "../../src/dialects/registry.ts";
import { callInput } from "../../src/dialects/tools/call-input.ts";
import { type Answer, sse } from "../support/answers.ts";
import { answerIn } from "../support/read-stream.ts";
import { type Pair, pairs, talker } from "./pairs.ts";
import { hello, paths, streamEvents, usageOf } from "./wire-answers.ts";
import { World } from "./world.ts";

/** What is not parsed cannot block the event loop. */
const parsing = spyOn(JSON, "parse");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
beforeEach(() => parsing.mockClear());
afterEach(() => world.provider.reset());
afterAll(async () => {
  parsing.mockRestore();
  await world[Symbol.asyncDispose]();
});

/** Takes a parser a hundred milliseconds, and 8 MiB of it more than a second. */
const huge = `[${"[],".repeat(400_000)}0]`;
const longestParsed = () => Math.max(...parsing.mock.calls.map(([text]) => text.length));

/** More members than any event has values. They cannot be left out without leaving out the event. */
const countless = Array.from({ length: maxParsedValues + 1 }, (_, at) => `"${at}":0`).join();

/** An event of the dialect with some text, and with unknown fields. */
function hugeEvent(provider: Pair["provider"], fields = `"y":${huge}`): string {
  const more = `${fields}}\n\n`;
  switch (provider) {
    case "chat":
      return `data: {"choices":[{"index":0,"delta":{"content":" still"}}],${more}`;
    case "responses":
      return `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,"item_id":"m","output_index":0,"content_index":0,"delta":" still",${more}`;
    case "messages":
      return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" still"},${more}`;
  }
}

const text = "Sluices keep the canal navigable.";

/** With the huge event after the first words. */
function streamWith(provider: Pair["provider"], event: string): Answer {
  const events = streamEvents(provider, { text, usage: usageOf(provider, 100, 20) });
  const at = events.findIndex((said) => said.includes(" keep")) + 1;
  return sse(events.toSpliced(at, 0, event).join(""));
}

async function answered({ client, model }: Pair, answer: Answer, stream: boolean) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  const limit = client === "messages" ? { max_tokens: 50 } : {};
  const response = await world.ask(caller, {
    path: paths[client],
    body: hello(client, model, { stream, ...limit }),
  });
  const { status } = response;
  return { status, body: await response.text(), charges: await world.chargesOf(caller) };
}

const properEnd = /\[DONE\]|message_stop|response\.completed/;

describe("an event of more values than any real one is not parsed:", () => {
  for (const pair of pairs) {
    const { client, provider } = pair;
    if (client === provider) {
      test(`${client} passed through gets it unread, and the answer goes on`, async () => {
        const { body, charges } = await answered(pair, streamWith(provider, hugeEvent(provider)), true);
        expect(body).toContain(huge);
        expect(body).toMatch(properEnd);
        const amount = -(100 * 1_000 + 20 * 2_000);
        expect(charges).toEqual([{ amount, basis: "measured", outcome: "completed" }]);
        expect(longestParsed()).toBeLessThan(huge.length / 5);
      });

      test(`${client} passed through ends before one that may say how the answer ends`, async () => {
        const event = hugeEvent(provider, `"error":null,${countless}`);
        const { status, body, charges } = await answered(pair, streamWith(provider, event), true);
        expect(status).toBe(200);
        expect(body).toContain(" keep");
        expect(body).not.toContain(countless);
        expect(body).toContain(`more than ${maxParsedValues} values`);
        expect(body.replace("data: [DONE]", client === "responses" ? "" : "$&")).not.toMatch(properEnd);
        expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
        expect(longestParsed()).toBeLessThan(huge.length / 5);
      });
      continue;
    }

    const event = hugeEvent(provider, countless);
    test(`${client} from ${provider} is told of a broken answer, and charged for what came before`, async () => {
      const { status, body, charges } = await answered(pair, streamWith(provider, event), true);
      expect(status).toBe(200);
      expect(body).toContain(" keep");
      expect(body).not.toContain(" still");
      expect(body).toContain(`more than ${maxParsedValues} values`);
      expect(body.replace("data: [DONE]", client === "responses" ? "" : "$&")).not.toMatch(properEnd);
      expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
      expect(longestParsed()).toBeLessThan(huge.length / 5);
    });

    test(`${client} from ${provider}, where no stream was asked for, costs nothing`, async () => {
      const { status, charges } = await answered(pair, streamWith(provider, event), false);
      expect(status).toBe(502);
      expect(charges).toEqual([]);
      expect(longestParsed()).toBeLessThan(huge.length / 5);
    });
  }

  test.each(providerDialectNames)("a reader of %s says so", (provider) => {
    const target = {
      dialect: providerDialect(provider),
      upstreamModel: "u",
      provider: "p",
      isStrict: false,
      maxOutputTokens: 4096,
      maxTokensField: "max_tokens",
      streamUsage: true,
      capabilities: {},
    } as const;
    const reader = target.dialect.createStreamReader({ target });
    expect(() => [...answerIn(reader.read({ event: "x", data: `{${countless}}` }))]).toThrow(
      `more than ${maxParsedValues} values`,
    );
    expect(longestParsed()).toBeLessThan(huge.length / 5);
  });

  test("nor is the input of a tool, which stays text", () => {
    const input = `{"x":${huge}}`;
    expect(callInput(input)).toEqual({ invalid_arguments: input });
    expect(longestParsed()).toBeLessThan(huge.length / 5);
  });
});

describe("a response with the probabilities of all its tokens ends properly, and its figures are read:", () => {
  const probable = { token: " error", logprob: -0.5, bytes: [32, 101, 114, 114, 111, 114] };
  const logprobs = Array.from({ length: 1500 }, () => ({
    ...probable,
    top_logprobs: Array.from({ length: 20 }, () => ({ ...probable, token: "error" })),
  }));
  const annotations = [{ type: "file_citation", file_id: "file-cited-by-the-answer", index: 1 }];
  const content = [{ type: "output_text", text, annotations, logprobs }];
  const item = { type: "message", id: "m", role: "assistant", status: "completed", content };
  const response = { id: "resp_up", object: "response", status: "completed", output: [item] };
  const at = { item_id: "m", output_index: 0, content_index: 0 };
  const ending = [
    { type: "response.output_text.done", sequence_number: 90, ...at, text, logprobs },
    { type: "response.output_item.done", sequence_number: 91, output_index: 0, item },
    {
      ...{ type: "response.completed", sequence_number: 92 },
      response: { ...response, usage: usageOf("responses", 100, 20) },
    },
  ];
  const last = ending.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  const answer = sse([...streamEvents("responses", { text }).slice(0, -3), ...last].join(""));
  const measured = [
    { amount: -(100 * 1_000 + 20 * 2_000), basis: "measured", outcome: "completed" },
  ] as const;
  const [, passedThrough, , , , , translated] = pairs;

  afterEach(() => expect(longestParsed()).toBeLessThan(JSON.stringify(logprobs).length / 5));

  test("passed through", async () => {
    const { body, charges } = await answered(passedThrough, answer, true);
    expect(body).toEndWith(last.join(""));
    expect(charges).toEqual([...measured]);
  });

  test("translated", async () => {
    const { body, charges } = await answered(translated, answer, true);
    const said = body.matchAll(/"text_delta","text":"([^"]+)"/g);
    expect([...said].map(([, word]) => word).join("")).toBe(text);
    expect(body).toContain('"stop_reason":"end_turn"');
    expect(body).toContain("message_stop");
    expect(charges).toEqual([...measured]);
  });

  test("translated, where no stream was asked for", async () => {
    const { status, body, charges } = await answered(translated, answer, false);
    expect(status).toBe(200);
    expect(body).toContain(text);
    expect(charges).toEqual([...measured]);
  });
});

describe("the text of an event with very many values below it is read where it passes through:", () => {
  const probable = { token: " lock", bytes: [32, 108, 111, 99, 107], top_logprobs: [] };
  const probabilities = Array.from({ length: 20_000 }, () => probable);
  const words = "Locks lift boats from one level of a canal to the next.";
  const chunk = (finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: words }, logprobs: { content: probabilities }, finish_reason: finish }] })}\n\n`;
  const delta = { type: "response.output_text.delta", sequence_number: 3, delta: words };
  const said: Readonly<Record<Pair["provider"], string>> = {
    chat: chunk(null),
    responses: `event: ${delta.type}\ndata: ${JSON.stringify({ ...delta, logprobs: probabilities })}\n\n`,
    messages: `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words }, x: probabilities })}\n\n`,
  };

  for (const pair of pairs.filter(({ client, provider }) => client === provider)) {
    test(`${pair.client}, which breaks off after it, is charged for it`, async () => {
      const { body, charges } = await answered(pair, sse(said[pair.provider]), true);
      expect(body).toContain(words);
      expect(charges).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
      // A dozen words at 2,000 each, and the question.
      expect(-(charges[0]?.amount ?? 0)).toBeGreaterThan(12 * 2_000);
      expect(longestParsed()).toBeLessThan(JSON.stringify(probabilities).length);
    });
  }

  test("chat, which it finishes, is complete without [DONE]", async () => {
    const [pair] = pairs;
    const { body, charges } = await answered(pair, sse(chunk("stop")), true);
    expect(body).toEndWith("data: [DONE]\n\n");
    expect(charges).toMatchObject([{ basis: "estimated", outcome: "completed" }]);
    expect(-(charges[0]?.amount ?? 0)).toBeGreaterThan(12 * 2_000);
  });
});

test("a large text is parsed as before, whatever stands in it", () => {
  const long = "canal, [sluice] {lock} ".repeat(20_000);
  expect(callInput(JSON.stringify({ long }))).toEqual({ long });
});
