import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { drip, json, openAiError, sse } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { ConversationWorld, textOf } from "./conversation-world.ts";
import { answer, models, responseFrom, say, type TurnWorld } from "./turn-world.ts";
import type { Caller, World } from "./world.ts";

let turns: TurnWorld;
let world: World;
let caller: Caller;
let other: Caller;
let create: TurnWorld["create"];
let lastBody: TurnWorld["lastBody"];
let call: ConversationWorld["call"];
let begin: ConversationWorld["begin"];
let itemsOf: ConversationWorld["itemsOf"];
let textsOf: ConversationWorld["textsOf"];

beforeAll(async () => {
  const conversations = await ConversationWorld.start();
  ({ turns, call, begin, itemsOf, textsOf } = conversations);
  ({ world, caller, other, create, lastBody } = turns);
});
beforeEach(() => turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

const sentTexts = () => (lastBody()["input"] as JsonObject[]).map(textOf);

describe("a conversation", () => {
  test("is created, read, changed and deleted", async () => {
    const metadata = { topic: "canals" };
    const created = await call("POST", "", { metadata, items: [say("One")] });
    expect(created).toEqual({
      status: 200,
      body: {
        id: expect.stringMatching(/^conv_/),
        object: "conversation",
        created_at: expect.any(Number),
        metadata,
      },
    } as never);
    const { id } = created.body;
    expect(await call("GET", `/${id}`)).toEqual(created);
    const changed = { status: 200, body: { ...created.body, metadata: { topic: "locks" } } };
    expect(await call("POST", `/${id}`, { metadata: { topic: "locks" } })).toEqual(changed as never);
    expect(await call("GET", `/${id}`)).toEqual(changed as never);
    expect(await textsOf(id)).toEqual(["One"]);
    expect((await call("POST", `/${id}`, { metadata: null })).body["metadata"]).toEqual({});
    expect(await call("DELETE", `/${id}`)).toEqual({
      status: 200,
      body: { id, object: "conversation.deleted", deleted: true },
    } as never);
    for (const method of ["GET", "DELETE"]) expect((await call(method, `/${id}`)).status).toBe(404);
  });

  test("that another request deletes first is not found", async () => {
    const id = await begin(say("One"));
    const deleting = spyOn(world.gateway.turns, "delete").mockImplementation(async () => false);
    expect((await call("DELETE", `/${id}`)).status).toBe(404);
    deleting.mockRestore();
    expect((await call("DELETE", `/${id}`)).status).toBe(200);
  });

  test("needs nothing to begin with, not even a body", async () => {
    for (const body of [undefined, {}, { items: null, metadata: null }]) {
      const { status, body: created } = await call("POST", "", body as Json);
      expect([status, created["metadata"]]).toEqual([200, {}]);
      expect(await itemsOf(created.id)).toEqual([]);
    }
  });

  test("has its items added, listed by pages, read and deleted one by one", async () => {
    const id = await begin(say("One"));
    const added = await call("POST", `/${id}/items`, {
      items: [
        { role: "assistant", content: "Two" },
        { ...say("Three"), id: "msg_own" },
      ],
    });
    expect(added.body).toMatchObject({ object: "list", last_id: "msg_own", has_more: false });
    expect(added.body.data.map(textOf)).toEqual(["Two", "Three"]);
    expect(await textsOf(id)).toEqual(["One", "Two", "Three"]);
    const newest = await call("GET", `/${id}/items?limit=2`);
    expect(newest.body.data.map(textOf)).toEqual(["Three", "Two"]);
    expect(newest.body["has_more"]).toBe(true);
    // A page that ends with the last item is the last one, however full it is.
    const all = await call("GET", `/${id}/items?limit=3`);
    expect([all.body.data.length, all.body["has_more"]]).toEqual([3, false]);
    const rest = await call("GET", `/${id}/items?after=${newest.body["last_id"]}`);
    expect(rest.body.data.map(textOf)).toEqual(["One"]);
    const [one, two] = await itemsOf(id);
    expect((await call("GET", `/${id}/items/${one?.id}`)).body as JsonObject).toEqual(one ?? {});
    const conversation = (await call("GET", `/${id}`)).body;
    expect((await call("DELETE", `/${id}/items/${two?.id}`)).body).toEqual(conversation);
    expect(await textsOf(id)).toEqual(["One", "Three"]);
    for (const method of ["GET", "DELETE"]) {
      expect((await call(method, `/${id}/items/${two?.id}`)).body.error.code).toBe("not_found");
    }
  });

  test.each<[string, string, Json, string]>([
    ["more than 20 items", "", { items: Array.from({ length: 21 }, () => say("x")) }, "items"],
    ["an item that is none", "", { items: ["x"] }, "items[0]"],
    ["an item twice", "", { items: [1, 2].map(() => ({ ...say("x"), id: "msg_2" })) }, "items[1].id"],
    [
      "17 pairs",
      "",
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ""])) },
      "metadata",
    ],
    ["a long name", "", { metadata: { ["n".repeat(65)]: "" } }, "metadata"],
    ["a long value", "", { metadata: { name: "v".repeat(513) } }, "metadata"],
    ["a value that is no text", "", { metadata: { name: 1 } }, "metadata"],
    ["no items", "/ID/items", {}, "items"],
    ["21 items", "/ID/items", { items: Array.from({ length: 21 }, () => say("x")) }, "items"],
    ["an item that it has", "/ID/items", { items: [{ ...say("x"), id: "msg_known" }] }, "items[0].id"],
    [
      "an item twice",
      "/ID/items",
      { items: [1, 2].map(() => ({ ...say("x"), id: "msg_2" })) },
      "items[1].id",
    ],
    ["no metadata", "/ID", {}, "metadata"],
  ])("refuses %s", async (_, path, body, param) => {
    const id = await begin({ ...say("One"), id: "msg_known" });
    const { status, body: answered } = await call("POST", path.replace("ID", id), body);
    expect([status, answered.error.code, answered.error.param]).toEqual([400, "invalid_request", param]);
    expect(await textsOf(id)).toEqual(["One"]);
  });

  test("takes what its limits allow", async () => {
    const pairs = Array.from({ length: 16 }, (_, n) => [`${n}`.padEnd(64, "n"), "v".repeat(512)]);
    const metadata = Object.fromEntries(pairs);
    const items = Array.from({ length: 20 }, (_, n) => say(`${n}`.padEnd(600, "x")));
    const { body } = await call("POST", "", { metadata, items });
    expect(body["metadata"]).toEqual(metadata);
    expect(await itemsOf(body.id)).toHaveLength(20);
  });

  test("of another key, deleted or unknown is answered in the same words", async () => {
    const [kept, deleted] = [await begin(say("One")), await begin(say("Two"))];
    await call("DELETE", `/${deleted}`);
    const response = await create({ input: "One" });
    const asked: readonly [string, string, Json?][] = [
      ["GET", ""],
      ["POST", "", { metadata: {} }],
      ["DELETE", ""],
      ["GET", "/items"],
      ["POST", "/items", { items: [say("x")] }],
      ["GET", "/items/msg_1"],
      ["DELETE", "/items/msg_1"],
    ];
    const ids = [kept, deleted, "conv_unknown", response.id];
    for (const [method, path, body] of asked) {
      const answers = await Promise.all(ids.map((id) => call(method, `/${id}${path}`, body, other)));
      for (const [place, answer] of answers.entries()) {
        expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
        const words = answer.body.error.message.replace(ids[place] ?? "", "ID");
        expect(words).toBe("Conversation with id 'ID' not found.");
      }
    }
    for (const conversation of [deleted, "conv_unknown", response.id, { id: deleted }]) {
      const { error } = await create({ conversation, input: "x" });
      expect([error.code, error.param]).toEqual(["not_found", "conversation"]);
    }
    expect((await create({ conversation: kept, input: "x" }, other)).error.code).toBe("not_found");
    expect(await textsOf(kept)).toEqual(["One"]);
  });

  test("is no response", async () => {
    const id = await begin(say("One"));
    expect((await turns.call("GET", id)).status).toBe(404);
    expect((await turns.call("DELETE", id)).status).toBe(404);
    expect((await create({ previous_response_id: id, input: "x" })).error.code).toBe(
      "previous_response_not_found",
    );
    expect(await textsOf(id)).toEqual(["One"]);
  });

  test("of a key with a token budget is at that key's own address", async () => {
    const budgeted = await world.tokenCaller(1000);
    const headers = { authorization: `Bearer ${budgeted.secret}` };
    const asked = ["/token", ""].map((origin) =>
      fetch(`${world.running.url}${origin}/v1/conversations`, { method: "POST", headers }),
    );
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 401]);
  });

  test("is only read once there is memory for it, and gives that back", async () => {
    const { bodies, answers } = world.gateway;
    // Less than a megabyte is not waited for.
    const id = await begin(say("x".repeat(1_200_000)));
    const short = await begin(say("x"));
    await waitFor(() => bodies.takenBytes + answers.takenBytes === 0, "the memory to be given back");
    const holders = Array.from({ length: 20 }, (_, holder) => `holder ${holder}`);
    const taken = [bodies, answers].flatMap((memory) => holders.map((holder) => memory.reserve(holder)));
    for (const reservation of taken) while (reservation.grow(256 * 1024));
    const body = { model: "claude-test", input: "And?", conversation: id };
    const ask = async () => (await world.ask(caller, { path: "/v1/responses", body })).status;
    const waiting = [
      call("GET", `/${id}/items`),
      call("POST", `/${id}/items`, { items: [say("y")] }),
      call("GET", `/${id}/items?limit=1`),
    ];
    expect(await ask()).toBe(503);
    for (let times = 0; times < 20; times += 1) {
      expect((await call("GET", `/${short}/items`)).status).toBe(200);
    }
    expect(waiting.map(Bun.peek.status)).toEqual(["pending", "pending", "pending"]);
    for (const reservation of taken) reservation.release();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await ask()).toBe(200);
    await world.settled();
    expect([bodies.takenBytes, answers.takenBytes]).toEqual([0, 0]);
  });

  test("costs a rate token, and no money", async () => {
    const charges = (await world.chargesOf(caller)).length;
    const id = await begin(say("One"));
    await call("GET", `/${id}/items`);
    expect(world.observed.at(-1)).toMatchObject({
      charged: 0,
      route: "/v1/conversations/:conversation_id/items",
    });
    expect((await world.chargesOf(caller)).length).toBe(charges);
  });
});

describe("a response in a conversation", () => {
  test.each(models)(
    "is given all its items, and is added to them with what was asked (%s)",
    async (model) => {
      const id = await begin(say("One"), { role: "assistant", content: "Two" });
      const answered = await create({ model, conversation: id, input: "Three" });
      expect(answered.status).toBe("completed");
      const said = textOf(answered.output.find(({ type }) => type === "message") ?? {});
      expect((await textsOf(id)).filter((text) => text !== "reasoning")).toEqual([
        "One",
        "Two",
        "Three",
        said,
      ]);
      const text = turns.lastText();
      for (const word of ["One", "Two", "Three"]) expect(text).toContain(word);
      expect(text).not.toContain(id);
      const again = await turns.streamed({ model, conversation: { id }, input: [say("Four")] });
      for (const each of [answered, again]) {
        expect(each).toMatchObject({ status: "completed", conversation: { id }, previous_response_id: null });
      }
      expect(turns.lastText()).toContain(said);
      expect((await textsOf(id)).filter((each) => each !== "reasoning").slice(4, 5)).toEqual(["Four"]);
      const { body } = await turns.call("GET", again.id);
      expect(body).toMatchObject({ conversation: { id }, previous_response_id: null });
    },
  );

  test("has the whole conversation before it, reasoning in ciphertext too", async () => {
    const id = await begin();
    const first = await create({ conversation: id, input: "One" });
    await create({ conversation: id, input: "Two" });
    const input = lastBody()["input"] as JsonObject[];
    expect(input.map(({ type }) => type)).toEqual(["message", "reasoning", "message", "message"]);
    expect(input[1]).toEqual(first.output[0] ?? {});
    expect(lastBody()).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect((await turns.call("GET", `${first.id}/input_items`)).body.data.map(textOf)).toEqual(["One"]);
  });

  test("can be continued by its id, from the conversation as it was then", async () => {
    const id = await begin(say("One"));
    const first = await create({ conversation: id, input: "Two" });
    await create({ conversation: id, input: "Three" });
    await create({ previous_response_id: first.id, input: "Fork" });
    const said = textOf(first.output[1] ?? {});
    expect(sentTexts()).toEqual(["One", "Two", "reasoning", said, "Fork"]);
    expect(await textsOf(id)).toHaveLength(7);
    await call("DELETE", `/${id}`);
    const { error } = await create({ previous_response_id: first.id, input: "x" });
    expect(error.code).toBe("previous_response_not_found");
    expect((await turns.call("GET", first.id)).status).toBe(200);
  });

  test("that is deleted leaves the conversation as it is", async () => {
    const id = await begin();
    const { id: responseId } = await create({ conversation: id, input: "One" });
    expect((await turns.call("DELETE", responseId)).status).toBe(200);
    expect(await textsOf(id)).toHaveLength(3);
    expect((await create({ conversation: id, input: "Two" })).status).toBe("completed");
  });

  test("is added to nothing if it is not stored, or fails", async () => {
    const id = await begin(say("One"));
    for (const model of models) {
      const unstored = await create({ model, conversation: id, store: false, input: "Two" });
      expect(unstored).toMatchObject({ status: "completed", store: false, conversation: { id } });
      expect((await turns.call("GET", unstored.id)).status).toBe(404);
    }
    await create({ conversation: id, store: false, input: "Two" });
    expect(sentTexts()).toEqual(["One", "Two"]);
    world.provider.script(() => openAiError(400, "Too much."));
    expect((await create({ conversation: id, input: "Three" })).error).toBeDefined();
    turns.reset();
    expect(await textsOf(id)).toEqual(["One"]);
    expect((await create({ conversation: id, input: "Four" })).status).toBe("completed");
  });

  test("does not continue another response as well", async () => {
    const [id, { id: responseId }] = [await begin(), await create({ input: "One" })];
    const { error } = await create({ conversation: id, previous_response_id: responseId, input: "Two" });
    expect([error.code, error.param]).toEqual(["invalid_request", "conversation"]);
    for (const conversation of [1, {}, { id: 1 }, ""]) {
      const wrong = await create({ conversation, input: "Two" });
      expect([wrong.error.code, wrong.error.param]).toEqual(["invalid_request", "conversation"]);
    }
    expect((await create({ conversation: null, input: "Two" })).status).toBe("completed");
  });

  test("counts what it repeats once, and needs the call that it answers", async () => {
    const called = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "call_1", output: "canals" };
    const id = await begin({ ...say("One"), id: "msg_one" }, called);
    await create({ conversation: id, input: [{ type: "item_reference", id: "msg_one" }, called, output] });
    const types = () => (lastBody()["input"] as JsonObject[]).map(({ type }) => type);
    expect(types()).toEqual(["message", "function_call", "function_call_output"]);
    expect((await itemsOf(id)).map(({ type }) => type)).toEqual([
      ...types(),
      "reasoning",
      "message",
    ] as never);
    const { error } = await create({ conversation: id, input: [{ ...output, call_id: "call_2" }] });
    expect([error.code, error.param]).toEqual(["invalid_request", "input[0].call_id"]);
  });

  test("is held for as a whole, and refused where the key cannot pay for it", async () => {
    const id = await begin(say("word ".repeat(100_000)));
    const poor = await world.creditCaller(0.05);
    const long = (await call("POST", "", { items: [say("word ".repeat(100_000))] }, poor)).body.id;
    const { error } = await create({ conversation: long, input: "x", max_output_tokens: 16 }, poor);
    expect(error.code).toBe("insufficient_credit");
    const counted = await world.ask(caller, {
      path: "/v1/responses/input_tokens",
      body: { conversation: id, input: "x" },
    });
    expect(((await counted.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(90_000);
    expect(await textsOf(id)).toHaveLength(1);
  });

  test("may be the only one at a time", async () => {
    const id = await begin();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: asked, resolve: hasAsked } = Promise.withResolvers<void>();
    world.provider.script(async (request) => {
      hasAsked();
      await released;
      return answer(request);
    });
    const first = create({ conversation: id, input: "One" });
    await asked;
    const refused = [
      (await create({ conversation: id, input: "Two" })).error,
      (await call("POST", `/${id}/items`, { items: [say("x")] })).body.error,
      (await call("POST", `/${id}`, { metadata: {} })).body.error,
    ];
    for (const error of refused) expect(error.code).toBe("conversation_locked");
    expect((await call("GET", `/${id}`)).status).toBe(200);
    release();
    expect((await first).status).toBe("completed");
    expect(world.provider.requests).toHaveLength(1);
    expect((await textsOf(id))[0]).toBe("One");
    expect((await create({ conversation: id, input: "Three" })).status).toBe("completed");
  });

  test("is replayed by its Idempotency-Key, whatever has become of the conversation", async () => {
    const id = await begin();
    // Twice this is more than the model's window.
    const body = {
      model: "local-test",
      conversation: id,
      input: "word ".repeat(5000),
      max_output_tokens: 16,
    };
    const ask = () =>
      world.ask(caller, { path: "/v1/responses", body, headers: { "idempotency-key": "grown" } });
    const answered = await (await ask()).text();
    expect((await create(body)).error.code).toBe("context_length_exceeded");
    for (const change of [() => {}, () => call("DELETE", `/${id}`)]) {
      await change();
      const again = await ask();
      expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", answered]);
    }
    expect((await create(body)).error.code).toBe("not_found");
  });

  test("is added once, however often it is asked for with one Idempotency-Key", async () => {
    const id = await begin();
    const headers = { "idempotency-key": "once" };
    const body = { model: "gpt-test", conversation: id, input: "One" };
    const ask = () => world.ask(caller, { path: "/v1/responses", body, headers });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    world.provider.script(async (request) => {
      await released;
      return answer(request);
    });
    const first = ask();
    await waitFor(() => world.provider.requests.length === 1, "the provider to be asked");
    expect((await ask()).status).toBe(409);
    release();
    const answered = await (await first).text();
    const again = await ask();
    expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", answered]);
    expect(await textsOf(id)).toHaveLength(3);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("whose client has left in its midst is not added, and keeps nobody waiting", async () => {
    const id = await begin();
    const leaving = new AbortController();
    world.provider.script(() => drip(sse('event: x\ndata: {"type":"response.created"}\n\n'.repeat(1000)), 1));
    const body = { model: "gpt-test", conversation: id, input: "One", stream: true };
    const response = await world.ask(caller, { path: "/v1/responses", body, signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    turns.reset();
    await waitFor(
      async () => (await create({ conversation: id, input: "Two" })).status === "completed",
      "the conversation to be free",
    );
    expect((await textsOf(id))[0]).toBe("Two");
  });

  test.each<[string, (id: string) => Promise<unknown>]>([
    ["was deleted", (id) => call("DELETE", `/${id}`)],
    ["has expired", () => world.running.store.turns.prune(Date.now() + 31 * 86_400_000, 1000)],
  ])("does not bring back a conversation that %s meanwhile", async (_, end) => {
    const id = await begin(say("One"));
    world.provider.script(async (request) => {
      await end(id);
      return answer(request);
    });
    const answered = await create({ conversation: id, input: "Two" });
    expect(answered.status).toBe("completed");
    expect((await call("GET", `/${id}`)).status).toBe(404);
    expect((await turns.call("GET", answered.id)).status).toBe(200);
    expect((await create({ conversation: id, input: "Three" })).error.code).toBe("not_found");
  });

  test("is compacted as a chain is", async () => {
    const id = await begin(say("One"), { role: "assistant", content: "Two" });
    const trigger = { type: "compaction_trigger" };
    const answered = await create({ model: "chat-test", conversation: id, input: [say("Three"), trigger] });
    expect(answered.output.map(({ type }) => type)).toEqual(["compaction"]);
    expect((await itemsOf(id)).map(({ type }) => type)).toEqual(["message", "message", "compaction"]);
    await create({ conversation: id, input: "Four" });
    expect(sentTexts().join()).toContain("summary");
    expect(sentTexts().at(-1)).toBe("Four");
  });

  test.each(["completed", "incomplete"])(
    "loses nothing to a compaction that the provider has not made (%s)",
    async (status) => {
      const id = await begin(say("One"), { role: "assistant", content: "Two" });
      world.provider.script((request) => json({ ...responseFrom(request, []), status }));
      const asked = { conversation: id, input: [say("Three"), { type: "compaction_trigger" }] };
      expect((await create(asked)).status).toBe(status);
      expect(await textsOf(id)).toEqual(["One", "Two"]);
    },
  );
});
