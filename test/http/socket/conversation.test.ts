import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { dataOf } from "../../../src/dialects/sse/event.ts";
import { lacksOfEvent } from "../../dialects/openai-responses/published-schema.ts";
import { textOf } from "../../gateway/conversation-world.ts";
import { models, responseFrom, say } from "../../gateway/turn-world.ts";
import type { World } from "../../gateway/world.ts";
import { json, sse } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { eventsOf, SocketWorld, typesOf } from "./socket-world.ts";

let sockets: SocketWorld;
let world: World;
let open: SocketWorld["open"];

beforeAll(async () => {
  sockets = await SocketWorld.start();
  ({ world, open } = sockets);
});
beforeEach(() => sockets.turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

test("a conversation that is kept goes on on a socket, and is added to unless the request is not stored", async () => {
  await world.reload((config) => `[routes]\nconversations = true\n${config}`);
  const { caller } = sockets.turns;
  const headers = { authorization: `Bearer ${caller.secret}` };
  const url = `${world.running.url}/v1/conversations`;
  const { id } = (await (await fetch(url, { method: "POST", headers })).json()) as { id: string };
  const count = async () => {
    const { data } = (await (await fetch(`${url}/${id}/items`, { headers })).json()) as { data: unknown[] };
    return data.length;
  };
  using socket = await open();
  const first = await socket.ask({ model: "chat-test", conversation: id, input: "One" });
  expect(first.response).toMatchObject({ status: "completed", conversation: { id } });
  expect(await count()).toBe(2);
  const fork = await socket.ask({ previous_response_id: first.response.id, input: "Fork", store: false });
  expect(fork.type).toBe("response.completed");
  const warm = await socket.ask({ conversation: { id }, input: "Warm", generate: false });
  expect(warm.type).toBe("response.completed");
  await socket.ask({ conversation: { id }, input: "Two", store: false });
  expect(sockets.turns.lastText()).toContain("One");
  expect(await count()).toBe(2);
  const streams = ["a", "b"].map((stream_id) => socket.ask({ conversation: id, input: "Three", stream_id }));
  const ended = (await Promise.all(streams)).map(({ type, error }) => error?.code ?? type);
  expect(ended.toSorted()).toEqual(["conversation_locked", "response.completed"]);
  const unknown = await socket.ask({ conversation: "conv_unknown", input: "Four" });
  expect([unknown.status, unknown.error.code]).toEqual([404, "not_found"]);
  await world.reload((config) => config);
});

test("a response whose last event says its type behind the response ends, and can be continued", async () => {
  world.provider.script((request) => {
    const [first = "", ...rest] = eventsOf(request);
    const last = JSON.parse(dataOf(rest.pop() ?? ""));
    const { type, ...fields } = last;
    const behind = `data: ${JSON.stringify({ ...fields, type })}\n\n`;
    return sse(
      [first, ...rest, behind, `data: ${JSON.stringify({ type: "late", response: {} })}\n\n`].join(""),
    );
  });
  using socket = await open();
  const { response } = await socket.ask({ input: "One", store: false });
  const next = await socket.ask({ previous_response_id: response.id, input: "Two" });
  expect(next.type).toBe("response.completed");
  expect(sockets.turns.lastText()).toContain("One");
  expect(typesOf(socket.frames)).not.toContain("late");
  expect((await sockets.turns.call("GET", next.response.id)).status).toBe(200);
});

test("a response that is more than its key may keep is remembered by its socket all the same", async () => {
  await world.reload((config) => `[retention]\nresponse_bytes_per_key = 2000\n${config}`);
  using socket = await open();
  const { response } = await socket.ask({ input: "x".repeat(3000) });
  expect((await sockets.turns.call("GET", response.id)).status).toBe(404);
  const next = await socket.ask({ previous_response_id: response.id, input: "Two" });
  expect(next.type).toBe("response.completed");
  await world.reload((config) => config);
});

test("a stored response has those before it that are not stored, and none of those that are", async () => {
  const { turns } = sockets;
  using socket = await open();
  let last = await socket.ask({ input: "One", store: true });
  const ids = [last.response.id];
  const asked = ["Two", "Three", "Four", "Five"];
  for (const [place, input] of asked.entries()) {
    last = await socket.ask({ previous_response_id: last.response.id, input, store: place % 2 === 1 });
    ids.push(last.response.id);
  }
  const kept = await world.running.store.turns.find(turns.caller.key.id, last.response.id, Date.now());
  expect(kept?.parentId).toBe(ids[2] ?? "");
  // By HTTP, where only what is stored is known.
  await turns.create({ previous_response_id: last.response.id, input: "Six" });
  const texts = (turns.lastBody()["input"] as JsonObject[]).filter(({ role }) => role === "user").map(textOf);
  expect(texts).toEqual(["One", ...asked, "Six"]);
  const { body } = await turns.call("GET", `${last.response.id}/input_items?order=asc`);
  expect(body.data.filter(({ role }) => role === "user").map(textOf)).toEqual(["One", ...asked]);
});

test("an answer that cannot be read strictly enough to be kept reaches its client, charged and not stored", async () => {
  const caller = await world.creditCaller();
  const text = JSON.stringify(responseFrom({ body: {} } as SeenRequest)).replace(
    '"status":"completed"',
    '"status":"completed","status":"completed"',
  );
  world.provider.script({ ...json({}), steps: [{ write: text }] });
  const answered = await sockets.turns.create({ input: "Hi" }, caller);
  expect(answered.status).toBe("completed");
  expect(await world.chargesOf(caller)).toHaveLength(1);
  expect((await sockets.turns.call("GET", answered.id, caller)).status).toBe(404);
});

describe("a conversation on a socket", () => {
  const continuing = (id: string, fields: JsonObject) => ({
    previous_response_id: id,
    store: false,
    ...fields,
  });

  test.each(models)("goes on with %s although nothing is stored", async (model) => {
    using socket = await open();
    const first = await socket.ask({ model, input: "My name is Ada.", store: false });
    const second = await socket.ask({
      model,
      ...continuing(first.response.id, { input: [say("What is it?")] }),
    });
    expect(second.type).toBe("response.completed");
    const third = await socket.ask({ model, ...continuing(second.response.id, { input: "And now?" }) });
    expect(third.type).toBe("response.completed");
    for (const text of ["My name is Ada.", "What is it?", "And now?"])
      expect(sockets.turns.lastText()).toContain(text);
    expect(await sockets.turns.call("GET", third.response.id)).toMatchObject({ status: 404 });
  });

  test("is unknown to another socket, which then serves a clean one", async () => {
    using socket = await open();
    const { response } = await socket.ask({ input: "One", store: false });
    using other = await open();
    const { status, error } = await other.ask(continuing(response.id, { input: "Two" }));
    expect([status, error.code]).toEqual([400, "previous_response_not_found"]);
    expect((await other.ask({ input: "One, two", store: false })).type).toBe("response.completed");
  });

  test("remembers the latest response of a stream alone, and stored ones by their ids", async () => {
    using socket = await open();
    const first = await socket.ask({ input: "One", store: false });
    const stored = await socket.ask({ input: "Other", store: true });
    const last = await socket.ask({ input: "Third", store: false });
    const gone = await socket.ask(continuing(first.response.id, { input: "Two" }));
    expect(gone.error.code).toBe("previous_response_not_found");
    for (const { response } of [stored, last]) {
      const next = await socket.ask({ ...continuing(response.id, { input: "Two" }), stream_id: "fork" });
      expect(next.type).toBe("response.completed");
    }
  });

  test("that fails to go on on its own stream forgets what it would have continued; a fork does not", async () => {
    using socket = await open();
    const { response } = await socket.ask({ input: "One", store: false });
    const orphan = { type: "function_call_output", call_id: "call_none", output: "{}" };
    const fork = await socket.ask({ ...continuing(response.id, { input: [orphan] }), stream_id: "fork" });
    expect([fork.status, fork.error.param]).toEqual([400, "input[0].call_id"]);
    const failed = await socket.ask(continuing(response.id, { input: [orphan] }));
    expect([failed.status, failed.error.param]).toEqual([400, "input[0].call_id"]);
    const gone = await socket.ask(continuing(response.id, { input: "Two" }));
    expect(gone.error.code).toBe("previous_response_not_found");
  });

  test("goes on where the gateway stores nothing at all", async () => {
    const before = await sockets.turns.create({ input: "Zero" });
    await world.reload((config) => `[retention]\nresponse_hours = 0\n${config}`);
    using socket = await open();
    const first = await socket.ask({ input: "One" });
    const second = await socket.ask({ previous_response_id: first.response.id, input: "Two" });
    expect(second.type).toBe("response.completed");
    expect(sockets.turns.lastText()).toContain("One");
    const reference = { type: "item_reference", id: before.output[1]?.id ?? "" };
    expect((await socket.ask({ input: [reference] })).error.code).toBe("not_found");
    await world.reload((config) => config);
  });

  test("is its provider's where that stores responses, but for what is not to be stored", async () => {
    await world.reload((config) => `[responses]\nstate = "provider"\n${config}`);
    const { create, lastBody } = sockets.turns;
    using socket = await open();
    const warm = await socket.ask({ input: [say("Be brief.")], generate: false });
    const first = await socket.ask({ input: "One", previous_response_id: warm.response.id });
    expect(lastBody()).not.toHaveProperty("store");
    expect(sockets.turns.lastText()).toContain("Be brief.");
    const previous = { previous_response_id: first.response.id };
    for (const ask of [socket.ask.bind(socket), create]) {
      await ask({ input: "Two", ...previous });
      expect(lastBody()).toMatchObject({ input: "Two", ...previous });
    }
    const unstored = await socket.ask({ input: "Three", store: false });
    await socket.ask(continuing(unstored.response.id, { input: "Four" }));
    expect(lastBody()).toMatchObject({ store: false, input: { length: 4 } });
    const model = "claude-test";
    const elsewhere = await socket.ask({ model, input: "Five" });
    await socket.ask({ model, input: "Six", previous_response_id: elsewhere.response.id });
    expect(sockets.turns.lastText()).toContain("Five");
    await world.reload((config) => config);
  });

  test("has the hold of all that it consists of", async () => {
    const caller = await world.creditCaller(0.01);
    using socket = await open(caller);
    const long = "word ".repeat(4000);
    const first = await socket.ask({ input: long, store: false, max_output_tokens: 16 });
    expect(first.type).toBe("response.completed");
    const next = await socket.ask(
      continuing(first.response.id, { input: long.repeat(2), max_output_tokens: 16 }),
    );
    expect(next).toMatchObject({ status: 402 });
  });

  test("begins with a request that generates nothing, and costs nothing", async () => {
    const caller = await world.creditCaller();
    using socket = await open(caller);
    const warm = await socket.ask({ input: [say("Be brief.")], store: false, generate: false });
    expect(typesOf(socket.frames)).toEqual([
      "response.created",
      "response.in_progress",
      "response.completed",
    ]);
    expect(warm.response).toMatchObject({ status: "completed", output: [] });
    expect(socket.frames.flatMap((frame) => lacksOfEvent(frame))).toEqual([]);
    expect(world.provider.requests).toEqual([]);
    expect(await world.chargesOf(caller)).toEqual([]);
    const next = await socket.ask(continuing(warm.response.id, { input: [say("Who are you?")] }));
    expect(next.type).toBe("response.completed");
    for (const text of ["Be brief.", "Who are you?"]) expect(sockets.turns.lastText()).toContain(text);
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("begins with nothing that could not be asked for, and stores none of it", async () => {
    const context = { store: world.running.store, clock: systemClock };
    const spec = { mode: "credit", creditNano: nanoPerCredit, models: ["gpt-test"] } as const;
    const caller = await createKey(context, spec);
    await world.gateway.catchUp();
    using socket = await open(caller);
    const warm = await socket.ask({ input: "Be brief.", generate: false });
    expect(warm.type).toBe("response.completed");
    expect((await context.store.turns.sums(caller.key.id, Date.now())).count).toBe(0);
    const next = await socket.ask({ input: "Hi", previous_response_id: warm.response.id });
    expect(next.type).toBe("response.completed");
    const refused = await socket.ask({ model: "claude-test", input: "Be brief.", generate: false });
    expect([refused.status, refused.error.param]).toEqual([403, "model"]);
  });

  test("begins with a request that generates nothing and does not count toward the key's rate", async () => {
    const caller = await world.creditCaller(10, { rpmLimit: 1 });
    using socket = await open(caller);
    const warm = await socket.ask({ input: "Be brief.", generate: false });
    const first = await socket.ask({ input: "Hi", previous_response_id: warm.response.id });
    expect(first.type).toBe("response.completed");
    const second = await socket.ask({ input: "Hi" });
    expect([second.status, second.error.code]).toEqual([429, "rate_limit_exceeded"]);
  });

  test("begins with no more than 60 requests of a key in a minute that generate nothing", async () => {
    using socket = await open(await world.creditCaller());
    const startedMs = performance.now();
    let completed = 0;
    let last = await socket.ask({ input: "Be brief.", generate: false });
    for (; last.type === "response.completed" && completed < 600; completed += 1)
      last = await socket.ask({ input: "Be brief.", generate: false });
    expect([last.status, last.error?.code]).toEqual([429, "rate_limit_exceeded"]);
    // One more per second becomes possible meanwhile.
    expect(completed).toBeGreaterThanOrEqual(60);
    expect(completed).toBeLessThanOrEqual(61 + (performance.now() - startedMs) / 1000);
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
  });

  test.each(models)("of which only the last is stored can be continued elsewhere (%s)", async (model) => {
    using socket = await open();
    const { create, call, lastText } = sockets.turns;
    const stored = await create({ model, input: "My name is Ada." });
    const unstored = await socket.ask({ model, ...continuing(stored.id, { input: "I live in Zurich." }) });
    const warm = await socket.ask({
      model,
      ...continuing(unstored.response.id, { input: [say("Be brief.")], generate: false }),
    });
    const last = await socket.ask({ model, previous_response_id: warm.response.id, input: "Who am I?" });
    const said = ["My name is Ada.", "I live in Zurich.", "Be brief.", "Who am I?"];
    const listed = (await call("GET", `${last.response.id}/input_items?order=asc`)).body.data;
    expect(listed.filter(({ role }) => role === "user").map(textOf)).toEqual(said);
    await create({ model, input: "Where?", previous_response_id: last.response.id });
    const places = [...said, "Where?"].map((text) => lastText().indexOf(text));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    for (const { response } of [unstored, warm]) expect((await call("GET", response.id)).status).toBe(404);
  });

  test("is compacted by a trigger, and goes on with the summary", async () => {
    using socket = await open();
    const model = "claude-test";
    const first = await socket.ask({ model, input: "My name is Ada.", store: false });
    const trigger = { type: "compaction_trigger" };
    const compacted = await socket.ask({ model, ...continuing(first.response.id, { input: [trigger] }) });
    expect(compacted.type).toBe("response.completed");
    const next = await socket.ask({ model, ...continuing(compacted.response.id, { input: "And now?" }) });
    expect(next.type).toBe("response.completed");
    expect(sockets.turns.lastText()).toContain("My name is Ada.");
  });
});
