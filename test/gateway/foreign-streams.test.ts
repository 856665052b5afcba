import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { largeEventBytes } from "../../src/dialects/sse/event.ts";
import { sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { readStream } from "../support/sse.ts";
import { pairs, talker } from "./pairs.ts";
import { hello, paths, streamAnswer, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

const text = "Sluices keep the canal navigable.";
/** 5 tokens of the request and 9 of the text, at 1 and 2 USD per million. */
const counted = -(5 * 1_000 + 9 * 2_000);
const failed = [{ amount: counted, basis: "estimated", outcome: "failed" }] as const;
const completed = [{ amount: counted, basis: "estimated", outcome: "completed" }] as const;

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

async function chargesFor(
  pair: (typeof pairs)[number],
  answer: Parameters<typeof world.provider.script>[0],
  stream: boolean,
) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  const body = hello(pair.client, pair.model, stream ? { stream: true } : {});
  const response = await world.ask(caller, { path: paths[pair.client], body });
  const { text: received } = await readStream(response);
  return { status: response.status, received, charges: await world.chargesOf(caller) };
}

const dialects: readonly BodyDialectName[] = ["chat", "responses", "messages"];

describe.each(pairs)("$client at $model, whose provider should speak $provider", (pair) => {
  const isPassed = pair.client === pair.provider;
  for (const other of dialects.filter((each) => each !== pair.provider)) {
    const said = { text, usage: usageOf(other, 100, 20) };

    test(`a stream of ${other} is paid for where its text is passed on, and fails`, async () => {
      const { received, charges } = await chargesFor(pair, streamAnswer(other, said), true);
      expect(received.includes("navigable")).toBe(isPassed);
      expect(received).toContain("error");
      expect(charges).toEqual(isPassed ? failed : []);
    });

    test(`a whole answer of ${other} is refused and costs nothing, asked for as a stream or not`, async () => {
      for (const stream of [false, true]) {
        const { status, charges } = await chargesFor(pair, wholeAnswer(other, said), stream);
        expect({ status, charges }).toEqual({ status: 502, charges: [] });
      }
    });
  }
});

test("data that is no JSON is paid for as a part of the answer it comes with", async () => {
  const [first = "", ...words] = streamEvents("chat", { text });
  const rest = `: a comment\n\ndata: ${text.slice(8)}\n\n`;
  const answer = sse(`${first}${words[0]}${rest}${words.slice(-2).join("")}`);
  const { received, charges } = await chargesFor(pairs[0], answer, true);
  expect(received).toContain(rest);
  expect(charges).toEqual(completed);
});

test.each(pairs.filter(({ client, provider }) => client === provider))(
  "half an event, with which a stream of $provider breaks off, is neither delivered nor paid for",
  async (pair) => {
    const told = streamEvents(pair.provider, { text }).slice(0, pair.provider === "responses" ? -1 : -2);
    for (const more of ["", "x".repeat(largeEventBytes)]) {
      const half = `data: {"text":"Free of charge, because nobody gets it. ${more}`;
      const { received, charges } = await chargesFor(pair, sse(told.join("") + half), true);
      expect(received).not.toContain("Free");
      expect(charges).toEqual(failed);
    }
  },
);

test("half a mark of the end does not make the figures before it doubtful", async () => {
  const events = streamEvents("chat", { text, usage: usageOf("chat", 100, 20) });
  const { charges } = await chargesFor(pairs[0], sse(`${events.slice(0, -1).join("")}data: [DO`), true);
  expect(charges).toMatchObject([{ basis: "measured", outcome: "completed" }]);
});

test("a stream of data that is no JSON fails, and costs nothing", async () => {
  const { received, charges } = await chargesFor(pairs[0], sse("data: Internal Server Error\n\n"), true);
  expect(received).toContain("ended before the response was complete");
  expect(charges).toEqual([]);
});

test("a stream of Gemini where chat was asked for is paid for as it is passed on", async () => {
  const chunk = { candidates: [{ content: { parts: [{ text }] }, finishReason: "STOP" }] };
  const { received, charges } = await chargesFor(pairs[0], sse(`data: ${JSON.stringify(chunk)}\n\n`), true);
  expect(received).toContain("navigable");
  expect(charges).toEqual(failed);
});

test.each([
  [
    "llama.cpp's own",
    [
      { content: text, stop: false },
      { content: "", stop: true },
    ],
  ],
  ["Ollama's own", [{ message: { role: "assistant", content: text }, done: true }]],
  ["TGI's own", [{ index: 1, token: { id: 1, text }, generated_text: null }]],
])("a stream in a form that is no dialect is paid for as it is passed on: %s", async (_, events) => {
  const said = sse(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const { received, charges } = await chargesFor(pairs[0], said, true);
  expect(received).toContain("navigable");
  expect(charges).toEqual(failed);
});

test("a whole message in a chat stream is counted if nothing of it has come in deltas", async () => {
  const withMessages = (delta: boolean) =>
    streamEvents("chat", { text }).map((event) => {
      if (!event.startsWith("data: {")) return event;
      const chunk = JSON.parse(event.slice(6));
      const [choice] = chunk.choices;
      chunk.choices = [{ ...choice, message: choice.delta, ...(delta ? {} : { delta: undefined }) }];
      return `data: ${JSON.stringify(chunk)}\n\n`;
    });
  for (const delta of [false, true]) {
    const { charges } = await chargesFor(pairs[0], sse(withMessages(delta).join("")), true);
    expect(charges).toEqual(completed);
  }
});
