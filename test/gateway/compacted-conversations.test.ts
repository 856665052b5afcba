import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { CompactionStream, compactionItem } from "../../src/dialects/openai-responses/client/compaction.ts";
import { clientDialect } from "../../src/dialects/registry.ts";
import { lacksOfEvent } from "../dialects/openai-responses/published-schema.ts";
import { json, sse } from "../support/answers.ts";
import { answerFrom, fixtureText } from "../support/fixtures.ts";
import { dataOf, readStream, StreamReader } from "../support/sse.ts";
import { type Answered, answer, type Item, models, responseFrom, say, TurnWorld } from "./turn-world.ts";
import type { Caller, World } from "./world.ts";

let turns: TurnWorld;
let world: World;
let caller: Caller;
let other: Caller;
let create: TurnWorld["create"];
let call: TurnWorld["call"];
let lastBody: TurnWorld["lastBody"];
let lastText: TurnWorld["lastText"];

beforeAll(async () => {
  turns = await TurnWorld.start();
  ({ world, caller, other, create, call, lastBody, lastText } = turns);
});
beforeEach(() => turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

interface Compacted {
  readonly id: string;
  readonly object: string;
  readonly output: readonly Item[];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly error: Answered["error"];
}

async function compact(fields: JsonObject, as = caller, headers: Record<string, string> = {}) {
  const path = "/v1/responses/compact";
  const body = { model: "claude-test", ...fields };
  const response = await world.ask(as, { path, body, headers });
  return { response, body: (await response.json()) as Compacted };
}

const begunMessage = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "c",
  content: [],
  usage: { input_tokens: 50, output_tokens: 1 },
};
const messageEvent = (event: { readonly type: string }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const trigger = { type: "compaction_trigger" };
const others = models.filter((model) => model !== "gpt-test");
const encryptionOf = (item: Item | undefined) => String(item?.["encrypted_content"]);
const textOf = ({ content }: Item) => (content as { text: string }[]).map(({ text }) => text).join();
const call1 = { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' };
const result1 = { type: "function_call_output", call_id: "call_1", output: "Snow at noon" };

describe("a conversation that is compacted", () => {
  test.each(others)("becomes the user's messages and a sealed summary, by one call of %s", async (model) => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed thought" };
    const input = [say("Plan a trip"), reasoning, call1, result1, say("Make it short")];
    const tools = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }];
    const asked = world.provider.requests.length;
    const text = { format: { type: "json_object" } };
    const { response, body } = await compact({ model, input, tools, text, instructions: "You are a guide." });
    expect(body.object).toBe("response.compaction");
    const kept = body.output.slice(0, -1);
    expect(kept.map(textOf)).toEqual(["Plan a trip", "Make it short"]);
    for (const item of kept) expect(item).toMatchObject({ role: "user", id: expect.stringMatching(/^msg_/) });
    expect(body.output.at(-1)).toMatchObject({ type: "compaction" });
    expect(body.output.at(-1)?.id).toMatch(/^cmp_/);
    expect(encryptionOf(body.output.at(-1))).toMatch(/^slu1\.[\w-]+$/);
    expect(JSON.stringify(body)).not.toContain("canal");
    expect(world.provider.requests.length).toBe(asked + 1);
    for (const words of [
      "Plan a trip",
      "weather",
      "Oslo",
      "Snow at noon",
      "Make it short",
      "You are a guide.",
      "Summarize",
    ]) {
      expect(lastText()).toContain(words);
    }
    expect(lastText().indexOf("Summarize")).toBeGreaterThan(lastText().indexOf("Make it short"));
    expect(lastBody()["tools"]).toBeUndefined();
    expect(lastText()).not.toMatch(/json_object|application\/json/);
    expect(lastText()).not.toContain("sealed thought");
    expect(body.usage.input_tokens).toBeGreaterThan(0);
    expect(Number(response.headers.get("x-sluice-cost"))).toBeGreaterThan(0);
    expect((await call("GET", body.id)).status).toBe(404);
  });

  test.each(models)("comes back as a message of the user, to %s too", async (model) => {
    const { body } = await compact({ input: [say("One"), say("Two")] });
    const answered = await create({ model, input: [...body.output, say("Three")] as unknown as Json });
    expect(answered.status).toBe("completed");
    expect(lastText()).toContain(fixtureText.slice(0, 20));
    const places = ['"Two"', "Earlier turns of this conversation were summarized", '"Three"'].map((words) =>
      lastText().indexOf(words),
    );
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(lastText()).not.toContain("slu1.");
    // What was kept of it can be continued.
    const next = await create({ model, input: "Four", previous_response_id: answered.id });
    expect(next.status).toBe("completed");
    expect(lastText()).toContain(fixtureText.slice(0, 20));
    expect(lastText()).not.toContain("slu1.");
  });

  test("is charged as the call that it is, once, and by its idempotency key not again", async () => {
    const payer = await world.creditCaller(1);
    const fields = { input: [say("One")] };
    const first = await compact(fields, payer, { "idempotency-key": "k" });
    const again = await compact(fields, payer, { "idempotency-key": "k" });
    expect(again.body).toEqual(first.body);
    expect(again.response.headers.get("idempotent-replayed")).toBe("true");
    const charges = await world.chargesOf(payer);
    expect(charges).toHaveLength(1);
    expect(charges[0]).toMatchObject({ outcome: "completed", basis: "measured" });
    const { input_tokens, output_tokens } = first.body.usage;
    expect(charges[0]?.amount).toBe(-(input_tokens * 1000 + output_tokens * 2000));
    // Held for the longest summary: 8,192 tokens, and the model allows 4,096.
    expect(
      await world.heldFor({ path: "/v1/responses/compact", body: { model: "claude-test", ...fields } }),
    ).toBeGreaterThan(0.008);
    expect(lastBody()["max_tokens"]).toBe(4096);
  });

  test.each(models)("is answered whole, and refuses to be streamed (%s)", async (model) => {
    const { response, body } = await compact({ model, input: "One", stream: true });
    expect([response.status, body.error.code, body.error.param]).toEqual([400, "invalid_request", "stream"]);
    expect(world.provider.requests).toEqual([]);
  });

  test("continues a stored response", async () => {
    const first = await create({ input: "The secret word is Lock." });
    const { body } = await compact({ model: "chat-test", previous_response_id: first.id });
    expect(lastText()).toContain("The secret word is Lock.");
    expect(body.output.map(({ type }) => type)).toEqual(["message", "compaction"]);
    const gone = await compact({ model: "chat-test", previous_response_id: "resp_unknown" });
    expect(gone.body.error).toMatchObject({ code: "previous_response_not_found" });
    const nothing = await compact({ model: "chat-test" });
    expect(nothing.body.error).toMatchObject({ code: "invalid_request", param: "input" });
    const nameless = await world.ask(caller, { path: "/v1/responses/compact", body: { input: "Hi" } });
    expect(nameless.status).toBe(400);
  });

  test.each(others)("is refused with an item that this key does not have (%s)", async (model) => {
    const foreign = (await create({ input: "The secret word is Lock." }, other)).output[0]?.id ?? "";
    turns.reset();
    for (const missing of [{ type: "item_reference", id: foreign }, { id: foreign }]) {
      const input = [say("One"), missing];
      for (const { error } of [
        (await compact({ model, input })).body,
        await create({ model, input: [...input, trigger] }),
      ]) {
        expect(error).toMatchObject({ code: "not_found", param: "input[1].id" });
      }
    }
    expect(world.provider.requests).toEqual([]);
  });

  test("keeps the newest messages of the user, up to 64,000 tokens", async () => {
    const long = (name: string) => say(`${name} ${"x".repeat(100_000)}`);
    const { body } = await compact({ input: [long("first"), long("second"), say("third"), long("fourth")] });
    const kept = body.output.slice(0, -1).map((item) => textOf(item).split(" ")[0]);
    expect(kept).toEqual(["second", "third", "fourth"]);
  });

  test("that nobody has summarised is the provider's failure, and paid as it says", async () => {
    const payer = await world.creditCaller(1);
    const empty = { id: "msg_1", type: "message", role: "assistant", model: "c", stop_reason: "end_turn" };
    const usage = { input_tokens: 100, output_tokens: 1 };
    world.provider.script(() => json({ ...empty, content: [{ type: "text", text: " " }], usage }));
    const { response, body } = await compact({ input: [say("One")] }, payer);
    expect([response.status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(await world.chargesOf(payer)).toEqual([
      { amount: -102_000, basis: "measured", outcome: "failed" },
    ]);
  });
});

describe("a sealed summary", () => {
  test.each(["of another key", "that was changed", "that is none"])(
    "%s is refused by its place",
    async (which) => {
      const { body } = await compact({ input: [say("One")] }, which === "of another key" ? other : caller);
      const item = body.output.at(-1);
      const content = encryptionOf(item);
      const changed = {
        "of another key": content,
        "that was changed": `${content.slice(0, -4)}AAAA`,
        "that is none": "slu1.x",
      }[which];
      const input = [say("Hello"), { ...item, encrypted_content: changed ?? "" }];
      const { error } = await create({ input: input as unknown as Json });
      expect(error).toMatchObject({ code: "invalid_encrypted_content", param: "input[1]" });
    },
  );

  test("opens after the key was rotated, and on every gateway of the store", async () => {
    const candidate = new Uint8Array(32);
    const secret = await world.running.store.turns.sealingSecret(candidate);
    expect(Buffer.from(secret)).not.toEqual(Buffer.from(candidate));
    expect(Buffer.from(await world.gateway.turns.sealingSecret())).toEqual(Buffer.from(secret));
  });

  test("of a vendor's own goes to that vendor, and to no other", async () => {
    const item = { id: "cmp_vendor", type: "compaction", encrypted_content: "gAAAAvendor" };
    expect((await create({ input: [item, say("On")] })).status).toBe("completed");
    expect(lastBody()["input"]).toEqual([item, say("On")]);
    for (const model of others) {
      const { error } = await create({ model, input: [item, say("On")] });
      expect(error).toMatchObject({ code: "invalid_request", param: "input[0]" });
      const again = await compact({ model, input: [item, say("On")] });
      expect(again.body.error).toMatchObject({ code: "invalid_request", param: "input[0]" });
      expect(again.body.error.message).toContain("cmp_vendor");
    }
  });
});

describe("a compaction trigger", () => {
  test.each(others)("streams one compaction from %s, which can be continued", async (model) => {
    const body = { model, stream: true, input: [say("One"), call1, result1, say("Two"), trigger] };
    const response = await world.ask(caller, { path: "/v1/responses", body });
    const events = dataOf(await readStream(response)) as (JsonObject & { type: string })[];
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.compaction.compacting",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map((event) => event["sequence_number"])).toEqual([0, 1, 2, 3, 4, 5]);
    for (const event of events.filter(({ type }) => /created|in_progress/.test(type)))
      expect(lacksOfEvent(event)).toEqual([]);
    const ended = events.at(-1)?.["response"] as unknown as Answered & { usage: JsonObject };
    const started = events[0]?.["response"] as unknown as Answered;
    expect([started.id, ended.output.length, ended.output[0]?.type]).toEqual([ended.id, 1, "compaction"]);
    expect(Number(ended.usage["output_tokens"])).toBeGreaterThan(0);
    // The chain is what is left of it: the user's messages and the summary.
    const next = await create({ model, input: "Three", previous_response_id: ended.id });
    expect(next.status).toBe("completed");
    expect(lastText()).toContain("Earlier turns");
    expect(lastText()).toContain("One");
    expect(lastText()).not.toContain("Snow at noon");
  });

  test("without a stream is answered with a response, and continues a stored one", async () => {
    const first = await create({ model: "claude-test", input: "The word is Lock." });
    const compacted = await create({
      model: "claude-test",
      input: [trigger],
      previous_response_id: first.id,
    });
    expect(compacted).toMatchObject({ status: "completed", store: true, previous_response_id: first.id });
    expect(compacted.output.map(({ type }) => type)).toEqual(["compaction"]);
    expect(lastText()).toContain("The word is Lock.");
    expect((await call("GET", compacted.id)).body.output as unknown).toEqual(compacted.output);
    const unkept = await create({ model: "claude-test", input: [say("One"), trigger], store: false });
    expect(unkept.store).toBe(false);
    expect((await call("GET", unkept.id)).status).toBe(404);
  });

  test("that is not last is refused", async () => {
    for (const model of models) {
      const { error } = await create({ model, input: [say("One"), trigger, say("Two")] });
      expect(error).toMatchObject({ code: "invalid_request", param: "input[1]" });
    }
  });

  test("that a stream's provider does not summarise fails in band, and is charged", async () => {
    const payer = await world.creditCaller(1);
    const stopped = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { output_tokens: 2 },
    };
    const silent = [{ type: "message_start", message: begunMessage }, stopped, { type: "message_stop" }];
    world.provider.script(() => sse(silent.map(messageEvent).join("")));
    const body = { model: "claude-test", stream: true, input: [say("One"), trigger] };
    const response = await world.ask(payer, { path: "/v1/responses", body });
    const events = dataOf(await readStream(response)) as { type: string }[];
    expect(events.at(-1)?.type).toBe("response.failed");
    expect(await world.chargesOf(payer)).toEqual([{ amount: -54_000, basis: "measured", outcome: "failed" }]);
  });

  test("is answered by the summary of a stream whose last event has no items", async () => {
    world.provider.script((request) => {
      const { output, ...response } = responseFrom(request);
      const done = { type: "response.output_item.done", output_index: 0, item: (output as Item[])[1] ?? {} };
      const completed = { type: "response.completed", response: { ...response, output: [] } };
      return sse([done, completed].map(messageEvent).join(""));
    });
    const { output } = await turns.streamed({ model: "proxy-test", input: [say("One"), trigger] });
    expect(output.map(({ type }) => type)).toEqual(["compaction"]);
  });

  test("shows what is charged where the provider tells nothing", async () => {
    const payer = await world.creditCaller(1);
    world.provider.script(() => answerFrom("chat/text-without-usage.sse"));
    const body = { model: "chat-test", stream: true, input: [say("One"), trigger] };
    const response = await world.ask(payer, { path: "/v1/responses", body });
    const events = dataOf(await readStream(response)) as { type: string; response: Compacted }[];
    const { input_tokens, output_tokens } = events.at(-1)?.response.usage ?? {
      input_tokens: 0,
      output_tokens: 0,
    };
    expect(output_tokens).toBeGreaterThan(0);
    const charges = await world.chargesOf(payer);
    expect(charges).toEqual([
      { amount: -(input_tokens * 1000 + output_tokens * 2000), basis: "estimated", outcome: "completed" },
    ]);
  });

  test("is numbered on through the heartbeats of a long silence", () => {
    const source = {
      dialect: clientDialect("responses"),
      body: {},
      model: "m",
      nowSeconds: 1,
      estimatedInputTokens: 0,
    };
    const stream = new CompactionStream({ source, id: "resp_1", itemId: "cmp_1" });
    const numbers = (text: string) =>
      [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
    expect(numbers(stream.begin())).toEqual([0, 1, 2, 3]);
    expect([stream.frames.takeNumber(), stream.frames.takeNumber()]).toEqual([4, 5]);
    expect(numbers(stream.end(compactionItem("cmp_1", "x"), null))).toEqual([6, 7]);
  });

  test("says at every heartbeat that it is still being answered", async () => {
    const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "In short" } };
    const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const stopped = {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { output_tokens: 2 },
    };
    const rest = [block, text, { type: "content_block_stop", index: 0 }, stopped, { type: "message_stop" }];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const begun = [{ type: "message_start", message: begunMessage }].map(messageEvent).join("");
    const steps = [{ write: begun }, { until: released }, { write: rest.map(messageEvent).join("") }];
    world.provider.script(() => ({ ...sse(""), steps }));
    await world.reload((config) => `[server]\nheartbeat = 0.2\n${config}`);
    const body = { model: "claude-test", stream: true, input: [say("One"), trigger] };
    const reader = new StreamReader(await world.ask(caller, { path: "/v1/responses", body }));
    await reader.until("response.compaction.compacting");
    await reader.until("keepalive");
    release();
    await reader.until("response.completed");
    await world.reload((config) => config);
  });

  test("of a client that leaves is charged by what was produced", async () => {
    const payer = await world.creditCaller(1);
    const text = {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "A summary of it" },
    };
    const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const begun = [{ type: "message_start", message: begunMessage }, block, text].map(messageEvent).join("");
    world.provider.script(() => ({ ...sse(""), steps: [{ write: begun }, { stall: true }] }));
    const leaving = new AbortController();
    const body = { model: "claude-test", stream: true, input: [say("One"), trigger] };
    const response = await world.ask(payer, { path: "/v1/responses", body, signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    leaving.abort();
    const charges = await world.chargesOf(payer);
    expect(charges).toMatchObject([{ outcome: "cancelled" }]);
    expect(charges[0]?.amount).toBeLessThan(-50_000);
  });
});

describe("a provider that compacts itself", () => {
  test("is held for the input and for as much as a summary may have", async () => {
    await world.reload((config) => `[responses]\ncompaction_max_tokens = 300\n${config}`);
    const body = { model: "gpt-test", input: [say("One")] };
    const held = await world.heldFor({ path: "/v1/responses/compact", body });
    await world.reload((config) => config);
    // A token per byte, and four for the message and for its text, at the highest rate of input; and the summary.
    const input = JSON.stringify(body).length + 2 * 4;
    expect(held).toBeCloseTo((input * 1.25 + 300 * 2) / 1e6, 12);
  });

  test("is asked to, in its own way", async () => {
    const native = { id: "cmp_1", type: "compaction", encrypted_content: "gAAAA" };
    world.provider.script(() =>
      json({
        id: "resp_cmp",
        object: "response.compaction",
        created_at: 1,
        output: [say("One"), native],
        usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      }),
    );
    const { response, body } = await compact({ model: "gpt-test", input: [say("One")] });
    expect(response.status).toBe(200);
    expect(body.output.at(-1) as unknown).toEqual(native);
    const seen = world.provider.requests.at(-1);
    expect(seen?.path).toBe("/openai/v1/responses/compact");
    expect(seen?.body).toEqual({ model: "gpt-upstream", input: [say("One")] });
    expect(response.headers.get("x-sluice-cost")).toBe(String((10 * 1 + 5 * 2) / 1_000_000));
    turns.reset();
    const first = await create({ input: "Stored" });
    world.provider.script((request) => json(responseFrom(request, [native])));
    const triggered = await create({ input: [trigger], previous_response_id: first.id });
    expect(lastBody()["input"]).toContainEqual(trigger);
    expect(lastText()).toContain("Stored");
    world.provider.script(answer);
    await create({ input: "On", previous_response_id: triggered.id });
    const sent = lastBody()["input"] as Item[];
    expect(sent.map(({ type }) => type)).toEqual(["message", "compaction", "message"]);
  });
});

test.each(others)("a vendor's own compaction is refused by name toward another: %s", async (model) => {
  const native = { id: "cmp_1", type: "compaction", encrypted_content: "gAAAA" };
  const asked = world.provider.requests.length;
  const { error } = await create({ model, input: [say("One"), native, say("Two")] });
  expect(error).toMatchObject({ code: "invalid_request", param: "input[1]" });
  expect(world.provider.requests.length).toBe(asked);
  // The vendor of this server is unknown, so it may have created the item.
  expect((await create({ model: "proxy-test", input: [native, say("Two")] })).status).toBe("completed");
  expect(lastBody()["input"]).toEqual([native, say("Two")]);
});

test("a gateway that compacts nothing has no such route, and refuses a trigger", async () => {
  await world.reload((config) => `[routes]\ncompact = false\n${config}`);
  const { response, body } = await compact({ input: [say("One")] });
  expect([response.status, body.error.code]).toEqual([404, "not_found"]);
  for (const model of models) {
    const { error } = await create({ model, input: [say("One"), trigger] });
    expect(error).toMatchObject({ code: "invalid_request" });
  }
  await world.reload((config) => config);
});

test("what a provider keeps of a conversation is not lost: it goes on there, or is refused", async () => {
  await world.reload((config) => `[responses]\nstate = "provider"\n${config}`);
  const first = await create({ input: "One" });
  const summary = (await compact({ model: "claude-test", input: [say("Zero")] })).body.output.at(-1);
  const input = [summary, say("Two")] as unknown as Json;
  await create({ input, previous_response_id: first.id });
  expect(lastBody()).toMatchObject({ previous_response_id: first.id });
  expect(lastText()).toContain("Earlier turns");
  const { error } = (await compact({ model: "claude-test", previous_response_id: first.id })).body;
  expect(error).toMatchObject({ code: "previous_response_not_found" });
  await world.reload((config) => config);
});

test("context_management is left out and named where a provider lacks it", async () => {
  const context = [{ type: "compaction", compact_threshold: 100_000 }];
  const body = { model: "claude-test", input: "One", context_management: context };
  const response = await world.ask(caller, { path: "/v1/responses", body });
  expect(response.headers.get("x-sluice-dropped")).toContain("context_management");
  expect(lastBody()["context_management"]).toBeUndefined();
  await response.body?.cancel();
});

test("a Messages client's own compaction is refused by name where another provider would have to do it", async () => {
  const asked = { max_tokens: 10, messages: [{ role: "user", content: "One" }] };
  for (const model of models.filter((name) => name !== "claude-test")) {
    const body = { model, ...asked, compaction: { type: "summarize" } };
    const response = await world.ask(caller, { path: "/v1/messages", body });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    expect([response.status, error.type]).toEqual([400, "invalid_request_error"]);
    expect(error.message).toContain("compaction");
  }
  expect(world.provider.requests).toHaveLength(0);
});
