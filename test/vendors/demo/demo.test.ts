import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { RunningGateway } from "../../../src/app/start.ts";
import { DemoProvider } from "../../../src/vendors/demo/index.ts";
import { keyOn, start } from "../../gateway/demo-gateway.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { prepared, providerSettings } from "../../upstream/fixtures.ts";

const demo = new DemoProvider(providerSettings({ name: "demo", kind: "demo", baseUrl: "" }));

/** The demo behind a gateway, so that the official clients can judge it: chat passes through, the others are translated. */
let gateway: RunningGateway;
let openai: OpenAI;
let anthropic: Anthropic;
const folder = temporaryFolder();

beforeAll(async () => {
  gateway = await start(folder.dir, "data");
  const { secret } = await keyOn(gateway);
  openai = new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: secret, baseURL: gateway.url, maxRetries: 0 });
}, 30_000);

afterAll(async () => {
  await gateway.stop();
  folder[Symbol.dispose]();
}, 30_000);

const user = (content: string) => [{ role: "user" as const, content }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

describe("the demo speaks chat", () => {
  const tools = [{ type: "function" as const, function: { name: "get_weather", parameters } }];

  test("whole and streamed, with usage that adds up", async () => {
    const whole = await openai.chat.completions.create({ model: "m", messages: user("fast") });
    expect(whole.choices[0]?.message.content).toContain("“fast”");
    expect(whole.choices[0]?.finish_reason).toBe("stop");
    const streamed = openai.chat.completions.stream({
      model: "m",
      messages: user("fast"),
      stream_options: { include_usage: true },
    });
    const final = await streamed.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content ?? "");
    expect(final.usage).toEqual(whole.usage);
    expect(final.usage?.total_tokens).toBe(
      (final.usage?.prompt_tokens ?? 0) + (final.usage?.completion_tokens ?? 0),
    );
  });

  test("calls a tool, and answers once it has the result", async () => {
    const messages = user("fast. What is the weather in Paris?");
    const call = await openai.chat.completions.stream({ model: "m", messages, tools }).finalChatCompletion();
    const toolCall = call.choices[0]?.message.tool_calls?.[0];
    expect(call.choices[0]?.finish_reason).toBe("tool_calls");
    expect(toolCall?.type === "function" && JSON.parse(toolCall.function.arguments)).toEqual({
      city: "Paris",
    });
    const answer = await openai.chat.completions.create({
      model: "m",
      tools,
      messages: [
        ...messages,
        { role: "assistant", tool_calls: call.choices[0]?.message.tool_calls ?? [] },
        { role: "tool", tool_call_id: toolCall?.id ?? "", content: "22 degrees" },
      ],
    });
    expect(answer.choices[0]?.message.content).toContain("22 degrees");
  });

  test("stops at the limit and says so", async () => {
    const messages = user("fast, say 100 words");
    const cut = await openai.chat.completions.create({ model: "m", messages, max_completion_tokens: 10 });
    expect(cut.choices[0]?.finish_reason).toBe("length");
    expect(cut.usage?.completion_tokens).toBe(10);
  });

  test("follows a schema for its answer", async () => {
    const answer = await openai.chat.completions.create({
      model: "m",
      messages: user("fast"),
      response_format: { type: "json_schema", json_schema: { name: "place", schema: parameters } },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual({ city: "demo" });
  });
});

describe("the demo obeys, or refuses", () => {
  const refused = (promise: Promise<unknown>) =>
    promise.then(
      () => null,
      (error: unknown) => error,
    );

  test("stop sequences, in all dialects that have them", async () => {
    const asked = { model: "m", messages: user("fast"), stop: ["never", "everything", " not a"] };
    const whole = await openai.chat.completions.create(asked);
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      expect(choices[0]?.message.content).toEndWith("“fast”. I am");
      expect(choices[0]?.finish_reason).toBe("stop");
    }
    const stopping = { model: "m", max_tokens: 100, messages: user("fast"), stop_sequences: [" not a"] };
    const message = await anthropic.messages.create(stopping);
    const final = await anthropic.messages.stream(stopping).finalMessage();
    for (const { content, stop_reason } of [message, final]) {
      expect(content[0]?.type === "text" && content[0].text).toEndWith("“fast”. I am");
      expect(stop_reason).toBe("end_turn");
    }
    const cut = await anthropic.messages.create({ ...stopping, max_tokens: 2 });
    expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(["max_tokens", 2]);
  });

  test("n, and charges for all choices", async () => {
    const asked = { model: "m", messages: user("fast") };
    const one = await openai.chat.completions.create(asked);
    const three = await openai.chat.completions.create({ ...asked, n: 3 });
    expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(three.usage?.completion_tokens).toBe((one.usage?.completion_tokens ?? 0) * 3);
    const streamed = openai.chat.completions.stream({ ...asked, n: 2 });
    const { choices } = await streamed.finalChatCompletion();
    expect(choices.map(({ message }) => message.content)).toEqual([
      one.choices[0]?.message.content ?? "",
      one.choices[0]?.message.content ?? "",
    ]);
    expect(await refused(openai.chat.completions.create({ ...asked, n: 129 }))).toMatchObject({ param: "n" });
  });

  test("probabilities", async () => {
    const ask = (more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) =>
      refused(openai.chat.completions.create({ model: "m", messages: user("fast"), ...more }));
    expect(await ask({ logprobs: true })).toMatchObject({ status: 400, param: "logprobs" });
    expect(await ask({ logprobs: true, top_logprobs: 1 })).toMatchObject({ param: "top_logprobs" });
    // A null is no wish.
    expect(await ask({ logprobs: null, top_logprobs: null })).toBeNull();
  });

  test("what is over 1 MB, and what is not chat", async () => {
    const { signal } = new AbortController();
    const body = JSON.stringify({ model: "m", messages: user("x".repeat(1024 * 1024)) });
    const large = await demo.respond(prepared({ body }), signal);
    expect([large.status, await large.text()]).toEqual([413, expect.stringContaining("up to 1 MB")]);
    const other = await demo.respond(prepared({ dialect: "messages", body: "{}" }), signal);
    expect([other.status, await other.text()]).toEqual([
      404,
      expect.stringContaining("supports only chat completions"),
    ]);
  });
});

describe("the demo speaks responses", () => {
  test("streamed to the official helper's liking, with reasoning", async () => {
    const stream = openai.responses.stream({
      model: "m",
      input: "fast",
      reasoning: { effort: "low", summary: "auto" },
    });
    const final = await stream.finalResponse();
    expect(final.status).toBe("completed");
    expect(final.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    expect(final.output_text).toContain("“fast”");
    expect(final.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
  });

  test("calls a tool, and answers once it has the result", async () => {
    const tools = [{ type: "function" as const, name: "get_weather", parameters, strict: false }];
    const stream = openai.responses.stream({ model: "m", input: "fast. Weather in Rome?", tools });
    const [item] = (await stream.finalResponse()).output;
    if (item?.type !== "function_call") throw new Error("no call");
    expect(JSON.parse(item.arguments)).toEqual({ city: "Rome" });
    const answer = await openai.responses.create({
      model: "m",
      tools,
      input: [item, { type: "function_call_output", call_id: item.call_id, output: "sunny" }],
    });
    expect(answer.output_text).toContain("sunny");
  });

  test("is incomplete at its limit", async () => {
    const stream = openai.responses.stream({
      model: "m",
      input: "fast, say 100 words",
      max_output_tokens: 5,
    });
    expect(await stream.finalResponse()).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      usage: { output_tokens: 5 },
    });
  });
});

describe("the demo speaks messages", () => {
  test("streamed, with thinking", async () => {
    const stream = anthropic.messages.stream({
      model: "m",
      max_tokens: 2000,
      thinking: { type: "enabled", budget_tokens: 1024 },
      messages: user("fast"),
    });
    const final = await stream.finalMessage();
    expect(final.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    expect(final.stop_reason).toBe("end_turn");
    expect(final.usage.input_tokens).toBeGreaterThan(0);
    expect(final.usage.output_tokens).toBeGreaterThan(10);
  });

  test("calls a tool, and answers once it has the result", async () => {
    const tools = [{ name: "get_weather", input_schema: { ...parameters, type: "object" as const } }];
    const question = user("fast. Weather in Oslo?");
    const call = await anthropic.messages
      .stream({ model: "m", max_tokens: 100, messages: question, tools })
      .finalMessage();
    const [block] = call.content;
    if (block?.type !== "tool_use") throw new Error("no call");
    expect(call.stop_reason).toBe("tool_use");
    expect(block.input).toEqual({ city: "Oslo" });
    const result = { type: "tool_result" as const, tool_use_id: block.id, content: "snow" };
    const answer = await anthropic.messages.create({
      model: "m",
      max_tokens: 100,
      tools,
      messages: [
        ...question,
        { role: "assistant", content: call.content },
        { role: "user", content: [result] },
      ],
    });
    expect(answer.content[0]?.type === "text" && answer.content[0].text).toContain("snow");
  });
});

describe("the demo fails as it is told", () => {
  const raw = (text: string, signal = new AbortController().signal, stream = true) =>
    demo.respond(prepared({ body: JSON.stringify({ model: "m", stream, messages: user(text) }) }), signal);

  test("with a status and Retry-After", async () => {
    const response = await raw("please fail 503 and retry after 9");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "9"]);
    expect(await response.json()).toHaveProperty("error.message");
    const message = await anthropic.messages
      .create({ model: "m", max_tokens: 10, messages: user("fail 400") })
      .catch((error: unknown) => error);
    expect(message).toBeInstanceOf(Anthropic.BadRequestError);
  });

  test("by ending in the middle, by an error in the middle, and by telling no usage", async () => {
    expect(await (await raw("fast, cut")).text()).not.toContain("[DONE]");
    const broken = await (await raw("fast, break")).text();
    expect(broken).not.toContain("[DONE]");
    expect(broken.trimEnd().split("\n\n").at(-1)).toContain('{"error":');
    expect(await (await raw("fast, no usage", undefined, false)).json()).not.toHaveProperty("usage");
  });

  test("and words within a sentence are just words", async () => {
    const text = await (await raw("How do I cut bread fast without a break?")).text();
    expect(text).toContain("[DONE]");
  });

  test("a long answer has as many words as asked for", async () => {
    const response = await raw("say 200 words", undefined, false);
    const body = (await response.json()) as { choices: [{ message: { content: string } }] };
    expect(body.choices[0].message.content.split(" ")).toHaveLength(200);
  });

  for (const text of ["sleep 60", "stall", "slow, say 500 words", "pause 60"]) {
    test(`an abort ends "${text}" at once, like a fetch`, async () => {
      const leaving = new AbortController();
      const reading = raw(text, leaving.signal).then((response) => response.text());
      setTimeout(() => leaving.abort(), 30);
      expect(await reading.catch((error: Error) => error.name)).toBe("AbortError");
    });
  }
});

/** All that the official SDK's types have. */
const harmless: Readonly<Record<keyof OpenAI.Moderation.Categories, false>> = {
  harassment: false,
  "harassment/threatening": false,
  hate: false,
  "hate/threatening": false,
  illicit: false,
  "illicit/violent": false,
  "self-harm": false,
  "self-harm/instructions": false,
  "self-harm/intent": false,
  sexual: false,
  "sexual/minors": false,
  violence: false,
  "violence/graphic": false,
};

/** Without a gateway. */
const direct = new OpenAI({
  apiKey: "k",
  baseURL: "http://demo/v1",
  maxRetries: 0,
  fetch: async (address, init) => {
    const asked = { purpose: "metered", method: String(address).split("/v1/")[1] ?? "" } as const;
    return demo.respond(prepared({ ...asked, body: String(init?.body) }), new AbortController().signal);
  },
});

test("the demo has vectors, nearer the more words two texts share, and judges texts by what they name", async () => {
  const { data, usage } = await direct.embeddings.create({
    model: "m",
    input: ["a lock on a canal", "the lock of a canal", "bread"],
    encoding_format: "float",
  });
  const [one = [], like = [], other = []] = data.map(({ embedding }) => embedding);
  const product = (vector: number[]) =>
    one.reduce((sum, value, place) => sum + value * (vector[place] ?? 0), 0);
  expect([one.length, product(one).toFixed(3)]).toEqual([64, "1.000"]);
  expect(product(like)).toBeGreaterThan(product(other));
  expect(usage.total_tokens).toBeGreaterThan(3);
  const short = await direct.embeddings.create({
    model: "m",
    input: "x",
    dimensions: 8,
    encoding_format: "float",
  });
  expect(short.data[0]?.embedding).toHaveLength(8);
  const { results } = await direct.moderations.create({
    model: "m",
    input: ["kind words", "words of violence"],
  });
  expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
  expect(results[1]?.categories.violence).toBe(true);
  const { categories, category_scores, category_applied_input_types } = results[0] ?? {};
  for (const each of [categories, category_scores, category_applied_input_types])
    expect(Object.keys(each ?? {})).toEqual(Object.keys(harmless));
  const image = await direct.images.generate({ model: "m", prompt: "a lock" }).catch(String);
  expect(image).toContain("The demo has no images/generations");
});
