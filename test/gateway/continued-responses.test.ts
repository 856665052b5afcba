import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import type { ItemsQuery } from "../../src/store/turn-records.ts";
import { json } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import { answer, models, responseFrom, say, TurnWorld } from "./turn-world.ts";
import type { Caller, World } from "./world.ts";

let turns: TurnWorld;
let world: World;
let caller: Caller;
let other: Caller;
let create: TurnWorld["create"];
let streamed: TurnWorld["streamed"];
let call: TurnWorld["call"];
let lastBody: TurnWorld["lastBody"];
let lastText: TurnWorld["lastText"];

beforeAll(async () => {
  turns = await TurnWorld.start();
  ({ world, caller, other, create, streamed, call, lastBody, lastText } = turns);
});
beforeEach(() => turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

describe("a response that is continued", () => {
  test.each(models)("brings the whole conversation to %s, without and with streams", async (model) => {
    const first = await create({ model, input: "My name is Ada." });
    expect(first.status).toBe("completed");
    const second = await create({ model, input: "What is it?", previous_response_id: first.id });
    expect(lastText()).toContain("My name is Ada.");
    expect(lastText()).toContain("What is it?");
    expect(second.status).toBe("completed");
    const seen = lastText();
    const third = await streamed({ model, input: [say("And now?")], previous_response_id: second.id });
    const fourth = await streamed({ model, input: "Once more", previous_response_id: third.id });
    for (const text of ["My name is Ada.", "What is it?", "And now?", "Once more"])
      expect(lastText()).toContain(text);
    expect(fourth.id).not.toBe(third.id);
    // A fork: the first one may have several children.
    await create({ model, input: "What is it?", previous_response_id: first.id });
    expect(lastText()).toBe(seen);
  });

  test("is refused by the places that the client knows, or by what it continues", async () => {
    const first = await create({ input: [say("One"), say("Two")] });
    const [repeated = say("nothing")] = first.output;
    const file = { role: "user", content: [{ type: "input_file", file_id: "file-elsewhere" }] };
    const { error } = await create({
      input: [say("Three"), repeated, file],
      previous_response_id: first.id,
    });
    expect(error).toMatchObject({ param: "input[2].content[0].file_id" });
    expect(error.message).toContain("`input[2].content[0].file_id`");
    const foreign = { type: "compaction", id: "cmp_1", encrypted_content: "of OpenAI's own" };
    const stored = await create({ input: [say("One"), foreign] });
    const elsewhere = { model: "claude-test", input: "Two", previous_response_id: stored.id };
    expect((await create(elsewhere)).error).toMatchObject({ param: "previous_response_id" });
  });

  test("is only read once there is memory for it, and gives that back", async () => {
    const { bodies, answers } = world.gateway;
    // Less than a megabyte is not waited for.
    const first = await create({ model: "claude-test", input: "x".repeat(1_200_000) });
    expect(first.status).toBe("completed");
    // What it gives back later would be room for what has to wait.
    await world.settled();
    const size = 256 * 1024;
    const holders = Array.from({ length: 20 }, (_, holder) => `holder ${holder}`);
    const taken = [bodies, answers].flatMap((memory) => holders.map((holder) => memory.reserve(holder)));
    for (const reservation of taken) while (reservation.grow(size));
    const next = { model: "claude-test", input: "And?", previous_response_id: first.id };
    expect((await create(next)).error).toMatchObject({ code: "service_unavailable" });
    const listing = call("GET", `${first.id}/input_items`);
    for (let times = 0; times < 20; times += 1) {
      expect((await create({ model: "claude-test", input: "Something short" })).status).toBe("completed");
    }
    expect(Bun.peek.status(listing)).toBe("pending");
    for (const reservation of taken) reservation.release();
    expect((await create(next)).status).toBe("completed");
    expect((await listing).status).toBe(200);
    await world.settled();
    expect([bodies.takenBytes, answers.takenBytes]).toEqual([0, 0]);
  });

  test("goes to a provider of the same dialect as a client with the whole history would have sent it", async () => {
    const input = [{ role: "user", content: [{ type: "input_text", text: "né à 1.50" }] }];
    const first = await create({ input });
    const tools = [
      { type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false },
    ];
    await create({ input: [say("More")], previous_response_id: first.id, tools, instructions: "Be brief." });
    const continuing = lastText();
    const history = [...input, ...first.output, say("More")];
    await create({ input: history as unknown as Json, tools, instructions: "Be brief." });
    expect(continuing).toBe(lastText());
  });

  test("inherits neither instructions nor tools, and may change the model", async () => {
    const tools = [
      { type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false },
    ];
    const first = await create({ input: "One", instructions: "Be brief.", tools, temperature: 0.5 });
    await create({ model: "chat-test", input: "Two", previous_response_id: first.id });
    const { messages, tools: sent, temperature } = lastBody();
    expect(JSON.stringify(messages)).not.toContain("Be brief.");
    expect([sent, temperature]).toEqual([undefined, undefined]);
    expect(JSON.stringify(messages)).toContain("Answer");
  });

  test("is not kept by a provider, and its reasoning comes back as ciphertext", async () => {
    const first = await create({ input: "One" });
    expect(lastBody()).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    const include = ["web_search_call.action.sources"];
    await create({ input: "Two", previous_response_id: first.id, include });
    expect(lastBody()["include"]).toEqual([...include, "reasoning.encrypted_content"]);
    expect(lastBody()["previous_response_id"]).toBeUndefined();
    expect(lastBody()["input"]).toContainEqual(first.output[0] as Json);
    const unsaid = await create({ input: "Three", store: null });
    expect((await call("GET", unsaid.id)).body.store).toBe(true);
    await create({ input: "Three", store: false });
    expect(lastBody()["store"]).toBe(false);
    expect(lastBody()["include"]).toBeUndefined();
  });

  test("leaves out reasoning without its ciphertext, and that of another vendor", async () => {
    world.provider.script((request) => {
      const bare = {
        id: "rs_bare",
        type: "reasoning",
        summary: [{ type: "summary_text", text: "Secret thought" }],
      };
      const message = {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Hi" }],
      };
      return request.path.endsWith("/responses")
        ? json(responseFrom(request, [bare, message]))
        : usualResponse(request);
    });
    const first = await create({ input: "One" });
    expect((await create({ input: "Two", previous_response_id: first.id })).status).toBe("completed");
    expect(lastText()).not.toContain("rs_bare");
    expect((await call("GET", first.id)).body.output[0]?.id).toBe("rs_bare");
    world.provider.script(answer);
    const sealed = await create({ input: "One" });
    await create({ model: "claude-test", input: "Two", previous_response_id: sealed.id });
    expect(lastText()).not.toContain("sealed");
  });

  test("is shown with what it continues and that it is stored", async () => {
    const first = await create({ model: "claude-test", input: "One" });
    const second = await create({ model: "claude-test", input: "Two", previous_response_id: first.id });
    expect(second).toMatchObject({ store: true, previous_response_id: first.id });
    const third = await streamed({ model: "claude-test", input: "Three", previous_response_id: second.id });
    expect(third).toMatchObject({ store: true, previous_response_id: second.id });
    const unkept = await create({ model: "claude-test", input: "Four", store: false });
    expect(unkept).toMatchObject({ store: false, previous_response_id: null });
  });

  test("counts what the new input repeats of the conversation once", async () => {
    const calls = { id: "fc_1", type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
    world.provider.script((request) => json(responseFrom(request, [calls])));
    const first = await create({ input: [say("Weather?")] });
    const result = { type: "function_call_output", call_id: "call_1", output: "Sunny" };
    world.provider.script(answer);
    const input = [{ type: "item_reference", id: "fc_1" }, { ...calls, id: "fc_other" }, result];
    const second = await create({ input, previous_response_id: first.id });
    expect(lastBody()["input"]).toEqual([say("Weather?"), calls, result]);
    await create({ input: [result, say("Thanks")], previous_response_id: second.id });
    expect(lastBody()["input"]).toEqual([
      say("Weather?"),
      calls,
      result,
      ...second.output,
      say("Thanks"),
    ] as Json[]);
  });

  test("has an answer for each call of a server that gives the calls of every turn the same ids", async () => {
    let turn = 0;
    world.provider.script((request) => {
      turn += 1;
      const calls = { id: `fc_turn${turn}`, type: "function_call", call_id: "call_0", name: "f" };
      return json(responseFrom(request, [{ ...calls, arguments: `{"turn":${turn}}` }]));
    });
    const result = (output: string) => ({ type: "function_call_output", call_id: "call_0", output });
    const first = await create({ input: [say("Weather?")] });
    const second = await create({ input: [result("Sunny")], previous_response_id: first.id });
    await create({ input: [result("Rainy"), result("Rainy")], previous_response_id: second.id });
    expect(lastBody()["input"]).toEqual([
      say("Weather?"),
      ...first.output,
      result("Sunny"),
      ...second.output,
      result("Rainy"),
    ] as Json[]);
  });

  test("has an answer for each of the calls of one turn that have the same id, and once what it repeats", async () => {
    const calls = ["fc_a", "fc_b"].map((id) => ({ id, type: "function_call", call_id: "call_0", name: "f" }));
    const result = (output: string) => ({ type: "function_call_output", call_id: "call_0", output });
    for (const results of [
      [result("Sunny"), result("Rainy")],
      [result("Sunny"), result("Sunny")],
    ]) {
      world.provider.script((request) =>
        json(
          responseFrom(
            request,
            calls.map((made) => ({ ...made, arguments: "{}" })),
          ),
        ),
      );
      const first = await create({ input: [say("Weather?")] });
      world.provider.script(answer);
      const second = await create({ input: results, previous_response_id: first.id });
      const sent = [say("Weather?"), ...first.output, ...results] as Json[];
      expect(lastBody()["input"]).toEqual(sent);
      const more = [...results, say("Sure?")];
      await create({ input: more, previous_response_id: second.id });
      expect(lastBody()["input"]).toEqual([...sent, ...second.output, say("Sure?")] as Json[]);
    }
  });

  test("refuses an output whose call came nowhere before, which alone stays text", async () => {
    const first = await create({ input: "One" });
    const asked = world.provider.requests.length;
    for (const type of ["function_call_output", "custom_tool_call_output"]) {
      const orphan = { type, call_id: "call_nowhere", output: "Sunny" };
      const { error } = await create({ input: [say("Well"), orphan], previous_response_id: first.id });
      expect(error).toMatchObject({ code: "invalid_request", param: "input[1].call_id" });
    }
    expect(world.provider.requests.length).toBe(asked);
    const orphan = { type: "function_call_output", call_id: "call_nowhere", output: "Sunny" };
    const alone = await create({ model: "claude-test", input: [say("Well"), orphan] });
    expect(alone.status).toBe("completed");
    const both = [
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { ...orphan, call_id: "c" },
    ];
    expect((await create({ input: both, previous_response_id: first.id })).status).toBe("completed");
  });

  test("is held for the whole conversation, and charged as the provider says", async () => {
    const first = await create({ input: `One ${"word ".repeat(4000)}` });
    const body = { model: "gpt-test", input: "Two", max_output_tokens: 16, previous_response_id: first.id };
    const history = [say(`One ${"word ".repeat(4000)}`), ...first.output, say("Two")];
    const whole = { model: "gpt-test", input: history, max_output_tokens: 16 };
    const poor = await world.creditCaller(0.001);
    const { error } = await create({ ...whole } as unknown as JsonObject, poor);
    expect(error.code).toBe("insufficient_credit");
    const rich = await world.creditCaller(0.1);
    const parent = await create({ input: `One ${"word ".repeat(4000)}` }, rich);
    // What is left would be enough for the new question alone.
    await world.running.store.recordAdjustment({
      keyId: rich.key.id,
      amountNano: -99_000_000,
      reference: null,
      note: "spent",
      atMs: Date.now(),
    });
    await world.gateway.catchUp();
    const refused = await create({ ...body, previous_response_id: parent.id }, rich);
    expect(refused.error.code).toBe("insufficient_credit");
    expect((await create({ input: "Two", max_output_tokens: 16 }, rich)).status).toBe("completed");
  });

  test("is replayed by its idempotency key although what it continues is gone", async () => {
    const first = await create({ input: "One" });
    const reference = { type: "item_reference", id: first.output[1]?.id ?? "" };
    const ways = [{ previous_response_id: first.id, input: "Two" }, { input: [reference, say("Two")] }];
    const ask = (fields: JsonObject, stream: boolean) => {
      const headers = { "idempotency-key": `gone ${JSON.stringify(fields)} ${stream}` };
      return world.ask(caller, {
        path: "/v1/responses",
        body: { model: "gpt-test", stream, ...fields },
        headers,
      });
    };
    const asked = ways.flatMap((fields) => [true, false].map((stream) => [fields, stream] as const));
    const answers = await Promise.all(asked.map(async (each) => (await ask(...each)).text()));
    await call("DELETE", first.id);
    for (const [place, each] of asked.entries()) {
      const again = await ask(...each);
      expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual([
        "true",
        answers[place] ?? "",
      ]);
    }
    expect((await create({ ...ways[0] })).error.code).toBe("previous_response_not_found");
  });

  test("is replayed by its idempotency key without being stored again", async () => {
    const first = await create({ input: "One" });
    const body = { model: "gpt-test", input: "Two", previous_response_id: first.id };
    const headers = { "idempotency-key": "same" };
    const before = await world.running.store.turns.sums(caller.key.id, Date.now());
    const once = await world.ask(caller, { path: "/v1/responses", body, headers });
    const text = await once.text();
    const again = await world.ask(caller, { path: "/v1/responses", body, headers });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(text);
    const conflict = await world.ask(caller, {
      path: "/v1/responses",
      body: { ...body, input: "Other" },
      headers,
    });
    expect(conflict.status).toBe(409);
    const after = await world.running.store.turns.sums(caller.key.id, Date.now());
    expect(after.count - before.count).toBe(1);
  });
});

describe("a response that cannot be continued", () => {
  const notFound = { code: "previous_response_not_found", param: "previous_response_id" };

  test.each(models)("is not found: unknown, another key's, deleted, not stored (%s)", async (model) => {
    const first = await create({ model, input: "One" });
    const unkept = await create({ model, input: "One", store: false });
    const child = await create({ model, input: "Two", previous_response_id: first.id });
    expect(
      (await create({ model, input: "Two", previous_response_id: first.id }, other)).error,
    ).toMatchObject(notFound);
    expect((await call("DELETE", first.id)).body).toEqual({
      id: first.id,
      object: "response",
      deleted: true,
    } as never);
    for (const id of [first.id, child.id, unkept.id, "resp_unknown"]) {
      const asked = world.provider.requests.length;
      expect((await create({ model, input: "Two", previous_response_id: id })).error).toMatchObject(notFound);
      expect(world.provider.requests.length).toBe(asked);
    }
    // A child keeps what is its own.
    expect((await call("GET", child.id)).status).toBe(200);
  });

  test("is named beside a conversation, whether or not those are kept", async () => {
    const first = await create({ input: "One" });
    const both = { input: "Two", previous_response_id: first.id, conversation: "conv_1" };
    expect((await create(both)).error).toMatchObject({ code: "invalid_request", param: "conversation" });
  });

  test("continues one that is deleted, whatever its provider says of storing it", async () => {
    world.provider.script((request) => json({ ...responseFrom(request), store: undefined }));
    const first = await create({ input: "One" });
    const child = await create({ input: "Two", previous_response_id: first.id });
    await call("DELETE", first.id);
    const asked = world.provider.requests.length;
    expect((await create({ input: "Three", previous_response_id: child.id })).error).toMatchObject(notFound);
    expect(world.provider.requests.length).toBe(asked);
    world.provider.script(answer);
  });

  test("was answered with a failure", async () => {
    world.provider.script((request) =>
      json({ ...responseFrom(request), status: "failed", error: { code: "server_error", message: "no" } }),
    );
    const before = await world.running.store.turns.sums(caller.key.id, Date.now());
    await create({ input: "One" });
    expect(await world.running.store.turns.sums(caller.key.id, Date.now())).toEqual(before);
  });

  test("is one that ended early: that can be continued", async () => {
    world.provider.script((request) =>
      json({
        ...responseFrom(request),
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
      }),
    );
    const first = await create({ input: "One" });
    world.provider.script(answer);
    expect((await create({ input: "Go on", previous_response_id: first.id })).status).toBe("completed");
  });

  test("because its references stand for more than a request may have is refused before they are joined", async () => {
    await create({ input: [{ ...say("x".repeat(100_000)), id: "msg_long" }] });
    const reference = { type: "item_reference", id: "msg_long" };
    const asked = { path: "/v1/responses", body: { model: "gpt-test", input: Array(500).fill(reference) } };
    const refused = await world.ask(caller, asked);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("The conversation is too large");
  });

  test.each([
    ["bytes", "too_large"],
    ["responses", "too_many"],
  ])(
    "because its references are to items of more %s than a request may read is refused",
    async (what, kind) => {
      const { turns } = world.running.store;
      const withItems = turns.withItems.bind(turns);
      const limits: ItemsQuery[] = [];
      Object.assign(turns, {
        withItems: (query: ItemsQuery) => {
          limits.push(query);
          return Promise.resolve({ kind });
        },
      });
      const { error } = await create({ input: [{ type: "item_reference", id: "msg_long" }] });
      Object.assign(turns, { withItems });
      const { maxBodyBytes } = world.gateway.configured.settings.server;
      expect(limits).toMatchObject([{ maxBytes: maxBodyBytes, maxTurns: 1000 }]);
      expect(error).toMatchObject({ code: "invalid_request", param: "input" });
      expect(error.message).toContain(what);
      expect(error.message).toContain("Send the items themselves.");
      expect(error.message.length).toBeLessThanOrEqual(200);
      expect(world.provider.requests).toEqual([]);
    },
  );

  test("is too deep after a thousand responses", async () => {
    const { turns } = world.running.store;
    const chain = turns.chain.bind(turns);
    let asked = 0;
    Object.assign(turns, {
      chain: (query: { maxTurns: number }) => {
        asked = query.maxTurns;
        return Promise.resolve({ kind: "too_long" });
      },
    });
    const { error } = await create({ input: "Two", previous_response_id: "resp_x" });
    Object.assign(turns, { chain });
    expect(asked).toBe(1000);
    expect(error).toMatchObject({ code: "invalid_request", param: "previous_response_id" });
  });
});

describe("a reference to an item", () => {
  test.each(models)("is replaced by the item, whoever answered it (%s)", async (model) => {
    const first = await create({ model, input: [say("One")] });
    const message = first.output.find(({ type }) => type === "message");
    const reference = { type: "item_reference", id: message?.id ?? "" };
    const second = await create({ model, input: [say("One"), reference, say("Two")] });
    expect(second.status).toBe("completed");
    expect(lastText()).toContain(JSON.stringify(message?.["content"]).slice(20, 40) === "" ? "" : "Two");
    expect(lastText()).not.toContain("item_reference");
    // The answer continues what the references stand for.
    expect((await create({ model, input: "Three", previous_response_id: second.id })).status).toBe(
      "completed",
    );
  });

  test("works for items of the input, by ids that do not change", async () => {
    const first = await create({ input: [say("A question"), { ...say("With an id"), id: "msg_mine" }] });
    const listed = async () => (await call("GET", `${first.id}/input_items?order=asc`)).body.data;
    const items = await listed();
    expect(items.map(({ id }) => id)).toEqual((await listed()).map(({ id }) => id));
    expect(items[0]?.id).toMatch(/^item_/);
    expect(items[1]?.id).toBe("msg_mine");
    await create({ input: [{ id: items[0]?.id ?? "" }, { type: "item_reference", id: "msg_mine" }] });
    expect(lastBody()["input"]).toEqual([say("A question"), { ...say("With an id"), id: "msg_mine" }]);
  });

  test("is not needed for items that were listed: sent again, they go up as they came, and are found by the same ids", async () => {
    const question = { ...say("A question"), content: [{ type: "input_text", text: "A question" }] };
    const first = await create({ input: [question, { ...say("With an id"), id: "msg_mine" }] });
    const items = (await call("GET", `${first.id}/input_items?order=asc`)).body.data;
    const second = await create({ input: items });
    const sent = lastBody()["input"];
    expect(sent).toEqual([{ ...question, status: "completed" }, expect.objectContaining({ id: "msg_mine" })]);
    expect((await call("GET", `${second.id}/input_items?order=asc`)).body.data).toEqual(items);
    await create({ input: items, previous_response_id: second.id });
    expect(lastBody()["input"]).toEqual([...(sent as Json[]), ...second.output]);
    // Only items have such ids.
    const spoken = await create({ input: [], instructions: `Explain "${items[0]?.id}".` });
    expect(spoken.status).toBe("completed");
  });

  test("finds items by ids of any length and letters", async () => {
    for (const id of ["msg_short", `msg_${"long".repeat(50)}`, "msg of\u0000 odd ✓ letters"]) {
      await create({ input: [{ ...say(`That of ${id.length}`), id }] });
      await create({ input: [{ type: "item_reference", id }] });
      expect(lastBody()["input"]).toEqual([{ ...say(`That of ${id.length}`), id }]);
    }
  });

  test.each(models)("that is unknown, or another key's, is not found by its place (%s)", async (model) => {
    const first = await create({ model, input: "One" }, other);
    const unkept = await create({ model, input: "One", store: false });
    for (const id of [first.output[0]?.id ?? "", unkept.output[0]?.id ?? "", "msg_unknown"]) {
      const reference = { type: "item_reference", id };
      const { error } = await create({ model, input: [say("One"), reference] });
      expect(error).toMatchObject({ code: "not_found", param: "input[1].id" });
      expect(error.message).toContain(id);
      expect(error.message).toContain("store");
      const mine = await create({ model, input: "One" });
      const chained = await create({ model, input: [reference], previous_response_id: mine.id });
      expect(chained.error).toMatchObject({ code: "not_found", param: "input[0].id" });
    }
  });
});
