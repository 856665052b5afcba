import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { type Answer, sse } from "../support/answers.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { fixture } from "../support/fixtures.ts";
import { encodeChunk, encodeEvent, encodeException } from "../vendors/bedrock/encode-message.ts";
import { claudeModel, converseFrames, eventStream } from "../vendors/bedrock/fake-bedrock.ts";
import { pairs, pairsToTry, talker, translatedPairs } from "./pairs.ts";
import { hello, paths, streamAnswer, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

const bedrock = `
[providers.aws]
kind = "bedrock"
region = "eu-canary-1"
base_url = "PROVIDER_URL"
api_key = "env:TEST_BEDROCK_KEY"
${["converse", "messages"]
  .map(
    (dialect) => `
[[models]]
id = "aws-${dialect}"
provider = "aws"
upstream_model = "${claudeModel}"
${dialect === "converse" ? `dialect = "converse"` : ""}
context_window = 8192
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
`,
  )
  .join("")}
`;

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker + bedrock });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** The last figures in an answer, whatever the dialect calls them. */
function shownIn(text: string): { input: number; output: number } {
  const last = (name: RegExp) => Number([...text.matchAll(name)].at(-1)?.[1]);
  return {
    input: last(/"(?:prompt|input)_tokens":(\d+)/g),
    output: last(/"(?:completion|output)_tokens":(\d+)/g),
  };
}

/** Without usage, and with implausible usage: more than the model can read or write. */
const unreported = { text: "Sluices keep the canal navigable." };
const absurd = (provider: BodyDialectName) => ({ ...unreported, usage: usageOf(provider, 9e9, 9e9) });
const long = { text: "canal ".repeat(300_000) };

describe("a client is shown what it is charged, also where that is counted here:", () => {
  for (const { client, model, provider } of translatedPairs) {
    for (const [name, said] of [
      ["nothing reported", unreported],
      ["absurd figures", absurd(provider)],
      ["a large answer", long],
    ] as const) {
      for (const stream of ["streamed", "whole", "streamed at once"] as const) {
        if (name === "a large answer" && stream === "streamed") continue;
        test(`${client} from ${provider}, ${stream}, ${name}`, async () => {
          const caller = await world.creditCaller();
          const answer = stream === "streamed" ? streamAnswer(provider, said) : wholeAnswer(provider, said);
          world.provider.script(answer);
          const more = { stream: stream !== "whole", stream_options: { include_usage: true } };
          const body = hello(client, model, {
            max_tokens: 50,
            ...(client === "chat" ? more : { stream: more.stream }),
          });
          const response = await world.ask(caller, { path: paths[client], body });
          const { input, output } = shownIn(await response.text());
          expect(input).toBeGreaterThan(0);
          expect(output).toBeGreaterThan(0);
          const amount = -(input * 1_000 + output * 2_000);
          expect(await world.chargesOf(caller)).toEqual([
            { amount, basis: "estimated", outcome: "completed" },
          ]);
        });
      }
    }
  }
});

/** The same for the event of a stream by which it fails. */
function shownAtFailure(text: string): { input: number; output: number } | null {
  const events = text
    .split("\n\n")
    .filter((event) => /"type":"(?:message_delta|response\.failed)"/.test(event));
  const last = events.at(-1);
  return last === undefined || last.includes('"usage":null') ? null : shownIn(last);
}

describe("a client whose stream breaks off after text is shown what it is charged, where its dialect can tell:", () => {
  const said = { text: "Sluices keep the canal navigable.", firstUsage: undefined };
  const beginnings: { client: BodyDialectName; model: string; from: string; begun: Answer }[] = [];
  for (const { client, model, provider } of pairsToTry) {
    const events = streamEvents(provider, { ...said, firstUsage: usageOf(provider, 9, 1) });
    const begun = events.slice(0, events.findIndex((event) => event.includes(" canal")) + 1);
    beginnings.push({ client, model, from: provider, begun: sse(begun.join("")) });
  }
  const chunks = [...fixture("messages/text.sse").matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
    encodeChunk(JSON.parse(data)),
  );
  for (const client of bodyDialectNames) {
    const converse = eventStream(...converseFrames.slice(0, 3));
    beginnings.push({ client, model: "aws-converse", from: "ConverseStream", begun: converse });
    const stopped = eventStream(...converseFrames.slice(0, 5));
    beginnings.push({
      client,
      model: "aws-converse",
      from: "ConverseStream without its figures",
      begun: stopped,
    });
    const invoke = eventStream(...chunks.slice(0, 5));
    beginnings.push({ client, model: "aws-messages", from: "InvokeModel", begun: invoke });
  }

  const broken = encodeException("internalServerException", { message: "It broke" });
  for (const { client, model, from, begun } of beginnings) {
    const ends: [how: string, answer: Answer][] = [
      ["reset", { ...begun, steps: [...begun.steps, { sleepMs: 20 }, { reset: true }] }],
    ];
    // A message that has stopped is complete.
    if (!from.includes("without")) ends.push(["ended", begun]);
    if (model.startsWith("aws"))
      ends.push(["failed", { ...begun, steps: [...begun.steps, { write: broken }] }]);
    for (const [how, answer] of ends) {
      test(`${client} from ${from}, ${how}`, async () => {
        const caller = await world.creditCaller();
        world.provider.script(answer);
        const limit = client === "messages" ? { max_tokens: 50 } : {};
        const body = hello(client, model, { stream: true, ...limit });
        const text = await (await world.ask(caller, { path: paths[client], body })).text();
        expect(text).not.toMatch(/message_stop|response\.completed|finish_reason":"stop/);
        const [charge, ...others] = await world.chargesOf(caller);
        expect(others).toEqual([]);
        expect(charge).toMatchObject({ basis: "estimated", outcome: "failed" });
        const shown = shownAtFailure(text);
        if (client === "chat") expect(shown).toBeNull();
        else expect(-((shown?.input ?? 0) * 1_000 + (shown?.output ?? 0) * 2_000)).toBe(charge?.amount ?? 0);
      });
    }
  }

  /** The end of a stream that fails here: the answer and its figures are complete, and what ends the stream is missing. */
  const complete: { client: BodyDialectName; model: string; from: string; frames: Answer }[] = pairs
    // All but the last event of a responses stream have no figures.
    .filter(({ provider }) => provider !== "responses")
    .map(({ client, model, provider }) => {
      const usage = usageOf(provider, 9, 3);
      const events = streamEvents(provider, { ...said, usage, firstUsage: usageOf(provider, 9, 1) });
      return { client, model, from: provider, frames: sse(events.slice(0, -1).join("")) };
    });
  const metadata = encodeEvent("metadata", { usage: { inputTokens: 9, outputTokens: 3 } });
  for (const client of bodyDialectNames) {
    const frames = eventStream(...converseFrames.slice(0, 5), metadata);
    complete.push({ client, model: "aws-converse", from: "ConverseStream", frames });
  }
  for (const { client, model, from, frames } of complete) {
    test(`${client} from ${from}, by the provider's own figures if they are those of the whole answer`, async () => {
      const caller = await world.creditCaller();
      world.provider.script({ ...frames, steps: [...frames.steps, { sleepMs: 20 }, { reset: true }] });
      const limit = client === "messages" ? { max_tokens: 50 } : { stream_options: { include_usage: true } };
      const body = hello(client, model, { stream: true, ...limit });
      const text = await (await world.ask(caller, { path: paths[client], body })).text();
      expect(text).not.toMatch(/message_stop|response\.completed/);
      expect(text).toContain("before the response was complete");
      expect(await world.chargesOf(caller)).toEqual([
        { amount: -(9 * 1_000 + 3 * 2_000), basis: "measured", outcome: "failed" },
      ]);
      if (client !== "chat") expect(shownAtFailure(text)).toEqual({ input: 9, output: 3 });
    });
  }

  test("Anthropic's client knows the figures, and rejects", async () => {
    const caller = await world.creditCaller();
    world.provider.script(eventStream(...converseFrames.slice(0, 3)));
    const client = new Anthropic({ baseURL: world.running.url, authToken: caller.secret, maxRetries: 0 });
    const messages = [{ role: "user", content: "Hello" } as const];
    const stream = client.messages.stream({ model: "aws-converse", max_tokens: 50, messages });
    expect(await stream.finalMessage().catch((error: unknown) => error)).toBeInstanceOf(APIError);
    const { usage, stop_reason } = stream.currentMessage ?? {};
    expect(stop_reason).toBeNull();
    const [charge] = await world.chargesOf(caller);
    expect(-((usage?.input_tokens ?? 0) * 1_000 + (usage?.output_tokens ?? 0) * 2_000)).toBe(
      charge?.amount ?? 0,
    );
  });

  test.each(bodyDialectNames)("%s, not where nothing came and nothing is charged", async (client) => {
    const caller = await world.creditCaller();
    world.provider.script(eventStream(...converseFrames.slice(0, 1)));
    const limit = client === "messages" ? { max_tokens: 50 } : {};
    const body = hello(client, "aws-converse", { stream: true, ...limit });
    const text = await (await world.ask(caller, { path: paths[client], body })).text();
    expect(shownAtFailure(text)).toBeNull();
    expect(await world.chargesOf(caller)).toEqual([]);
  });
});
