import { afterAll, beforeAll, beforeEach, describe, expect, setSystemTime, spyOn, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { backUp } from "../../src/admin/system/back-up.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { json, sse } from "../support/answers.ts";
import { newFolder } from "../support/new-folder.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { type Answered, type Item, models, responseFrom, say, TurnWorld } from "./turn-world.ts";
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

describe("a stored response", () => {
  test.each(models)("is got as it was answered, by its key alone (%s)", async (model) => {
    const first = await create({ model, input: "One" });
    const second = await create({ model, input: "Two", previous_response_id: first.id });
    const { status, body } = await call("GET", second.id);
    expect(status).toBe(200);
    expect(body as unknown).toEqual({ ...second, store: true, previous_response_id: first.id });
    expect((await call("GET", second.id, other)).status).toBe(404);
    expect((await call("GET", "resp_unknown")).body.error).toMatchObject({ code: "not_found" });
  });

  test("is kept from a stream whose events say last what they are, as pydantic writes them", async () => {
    world.provider.script((request) => {
      const response = responseFrom(request);
      const event = (type: string, fields: JsonObject) => `data: ${JSON.stringify({ ...fields, type })}\n\n`;
      return sse(
        event("response.created", { response: { ...response, status: "in_progress", output: [] } }) +
          event("response.output_text.delta", { output_index: 1, delta: '"type":"response.completed"' }) +
          event("response.completed", { response, sequence_number: 2 }),
      );
    });
    const { id, output } = await turns.streamed({ input: "One" });
    expect((await call("GET", id)).body.output).toEqual(output);
  });

  describe("of a stream whose last event has no items", () => {
    const event = (type: string, fields: JsonObject) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

    /** The items in the order in which they ended, each with its place in the output. */
    function script(ended: readonly (readonly [number, Item])[], last: JsonObject): void {
      world.provider.script((request) => {
        const { output: _, ...response } = responseFrom(request, []);
        const items = ended.map(([output_index, item]) =>
          event("response.output_item.done", { output_index, item }),
        );
        const { status = "completed" } = last;
        const end = event(`response.${status}`, { response: { ...response, ...last } });
        return sse(
          event("response.created", { response: { ...response, output: [] } }) + items.join("") + end,
        );
      });
    }

    const reasoning = { id: "rs_s", type: "reasoning", summary: [], encrypted_content: "sealed" };
    const spoken = {
      ...{ id: "msg_s", type: "message", role: "assistant", status: "completed" },
      content: [{ type: "output_text", text: 'Says "response.output_item.done", twice.', annotations: [] }],
    };

    test.each<JsonObject>([{ output: [] }, { output: null }, {}])(
      "has those that were streamed, and is continued with them (%j)",
      async (last) => {
        script(
          [
            [1, spoken],
            [0, reasoning],
          ],
          last,
        );
        const { id } = await turns.streamed({ input: "One" });
        expect((await call("GET", id)).body.output).toEqual([reasoning, spoken]);
        turns.reset();
        await create({ input: "Two", previous_response_id: id });
        expect((lastBody()["input"] as Item[]).slice(1, 3)).toEqual([reasoning, spoken]);
      },
    );

    test("has none if none was streamed, as where the limit was used up by thinking", async () => {
      script([], { output: [], status: "incomplete" });
      const body = { model: "gpt-test", input: "One", stream: true };
      const response = await world.ask(caller, { path: "/v1/responses", body });
      const id = /"id":"(resp_given\d+)"/.exec(await response.text())?.[1] ?? "";
      expect((await call("GET", id)).body).toMatchObject({ status: "incomplete", output: [] });
    });

    test("has a large one too", async () => {
      const large = { ...spoken, content: [{ type: "output_text", text: "long ".repeat(100_000) }] };
      script([[0, large]], { output: [] });
      const { id } = await turns.streamed({ input: "One" });
      expect((await call("GET", id)).body.output).toEqual([large]);
    });
  });

  test("lists the whole conversation before it, but for reasoning and its own output", async () => {
    const first = await create({ input: "One" });
    const second = await create({ input: [say("Two"), say("Three")], previous_response_id: first.id });
    const texts = (data: readonly Item[]) =>
      data.map((item) => JSON.stringify(item["content"]).replace(/.*"text":"([^"]*)".*/, "$1"));
    const all = (await call("GET", `${second.id}/input_items?order=asc`)).body;
    const answered = first.output[1]?.["content"] as { text: string }[];
    expect(texts(all.data)).toEqual(["One", answered[0]?.text ?? "", "Two", "Three"]);
    expect(all).toMatchObject({
      object: "list",
      has_more: false,
      first_id: all.data[0]?.id,
      last_id: all.data[3]?.id,
    });
    for (const { id, type } of all.data) expect([typeof id, type]).toEqual(["string", "message"]);
    const newest = (await call("GET", `${second.id}/input_items?limit=2`)).body;
    expect(texts(newest.data)).toEqual(["Three", "Two"]);
    expect(newest).toMatchObject({ has_more: true });
    const rest = (await call("GET", `${second.id}/input_items?limit=2&after=${newest.data[1]?.id}`)).body;
    expect(texts(rest.data)).toEqual([answered[0]?.text ?? "", "One"]);
    expect(rest).toMatchObject({ has_more: false });
  });

  test("lists what it was given although its own output makes the conversation larger than a request may be", async () => {
    await world.reload((config) => `[server]\nmax_body_bytes = 20000\n${config}`);
    const first = await create({ input: "One ".repeat(2000) });
    world.provider.script((request) =>
      json(responseFrom(request, [{ ...say("x".repeat(8000)), id: "msg_x" }])),
    );
    const second = await create({ input: "Two ".repeat(2000), previous_response_id: first.id });
    const { status, body } = await call("GET", `${second.id}/input_items`);
    await world.reload((config) => config);
    expect([status, body.data?.length]).toEqual([200, 3]);
  });

  test.each(["limit=0", "limit=101", "limit=x", "order=up", "after=msg_none"])(
    "refuses to list by %s",
    async (query) => {
      const { id } = await create({ input: "One" });
      const { status, body } = await call("GET", `${id}/input_items?${query}`);
      expect([status, body.error.code, body.error.param]).toEqual([
        400,
        "invalid_request",
        query.split("=")[0] ?? "",
      ]);
    },
  );

  test("is not streamed again, and not cancelled: it was not in the background", async () => {
    const { id } = await create({ input: "One" });
    const streaming = await call("GET", `${id}?stream=true`);
    expect([streaming.status, streaming.body.error.param]).toEqual([400, "stream"]);
    expect((await call("POST", `${id}/cancel`)).body.error).toMatchObject({ code: "invalid_request" });
    expect((await call("POST", "resp_unknown/cancel")).status).toBe(404);
  });

  test("costs nothing to read, but a rate token", async () => {
    const { id } = await create({ input: "One" });
    const charges = (await world.chargesOf(caller)).length;
    const headers = { authorization: `Bearer ${caller.secret}` };
    const response = await fetch(`${world.running.url}/v1/responses/${id}`, { headers });
    await response.body?.cancel();
    expect(response.headers.get("x-request-id")).not.toBeNull();
    expect(world.observed.at(-1)).toMatchObject({ route: "/v1/responses/:response_id", charged: 0 });
    expect((await world.chargesOf(caller)).length).toBe(charges);
    const wrong = await fetch(`${world.running.url}/v1/responses/${id}`, { method: "PATCH", headers });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, DELETE"]);
    using taken = spyOn(world.gateway.rateLimits, "take");
    for (const [method, path] of [
      ["GET", id],
      ["GET", `${id}/input_items`],
      ["POST", `${id}/cancel`],
      ["DELETE", id],
    ] as const) {
      taken.mockClear();
      await call(method, path);
      expect(taken).toHaveBeenCalledTimes(1);
    }
  });

  test("of another key or a deleted one is deleted by nobody", async () => {
    const { id } = await create({ input: "One" });
    expect((await call("DELETE", id, other)).status).toBe(404);
    expect((await call("DELETE", id)).status).toBe(200);
    expect((await call("DELETE", id)).status).toBe(404);
    expect((await call("GET", id)).status).toBe(404);
    const { error } = await create({ input: "Two", previous_response_id: id });
    expect(error.code).toBe("previous_response_not_found");
    expect(error.message).toContain("no response in its chain may have expired or been deleted");
    expect(error.message).toContain("Send the full conversation");
  });

  test("of another key, deleted or unknown is answered in the same words, and nothing of it is read", async () => {
    const [kept, deleted] = [await create({ input: "One" }), await create({ input: "Two" })];
    await call("DELETE", deleted.id);
    const ids = [kept.id, deleted.id, "resp_unknown"];
    const { store } = world.running;
    for (const id of ids) expect(await store.turns.find(other.key.id, id, Date.now())).toBeNull();
    const asked = [
      ...[["GET", ""] as const, ["DELETE", ""] as const, ["GET", "/input_items"] as const].map(
        ([method, more]) =>
          async (id: string) => {
            const { status, body } = await call(method, id + more, other);
            return { status, error: body.error };
          },
      ),
      async (id: string) => (await create({ input: "Three", previous_response_id: id }, other)).error,
    ];
    for (const ask of asked) {
      const said = await Promise.all(
        ids.map(async (id) =>
          JSON.stringify(await ask(id))
            .replaceAll(id, "ID")
            .replace(/req_\w+/, ""),
        ),
      );
      expect(new Set(said).size).toBe(1);
    }
  });

  test("is in no backup that is made after it was deleted", async () => {
    const { id } = await create({ input: "a canary in the cage" });
    const folder = newFolder();
    const holds = async (name: string) => {
      const file = join(folder, name);
      await backUp({ store: world.running.store, clock: systemClock }, file);
      return readFileSync(file).includes(id);
    };
    expect(await holds("before.db")).toBe(true);
    await call("DELETE", id);
    expect(await holds("after.db")).toBe(false);
    rmSync(folder, { recursive: true });
  });

  test("is kept for a rotated key, and not beyond its time or the key's bytes", async () => {
    const { id } = await create({ input: "One" });
    const { turns } = world.running.store;
    const later = Date.now() + 25 * 3_600_000;
    expect(await turns.find(caller.key.id, id, Date.now() + 23 * 3_600_000)).not.toBeNull();
    expect(await turns.find(caller.key.id, id, later)).toBeNull();
    await world.reload((config) => `[retention]\nresponse_bytes_per_key = 3000\n${config}`);
    const bounded = await world.creditCaller();
    const first = await create({ input: "x".repeat(1500) }, bounded);
    const second = await create({ input: "y".repeat(1500) }, bounded);
    expect((await call("GET", first.id, bounded)).status).toBe(404);
    expect((await call("GET", second.id, bounded)).status).toBe(200);
    // One that is more than all of them may be is not kept, and drives out no other.
    const large = await create({ input: "z".repeat(3500) }, bounded);
    expect((await call("GET", large.id, bounded)).status).toBe(404);
    expect((await call("GET", second.id, bounded)).status).toBe(200);
    // What it repeats of its request counts, too.
    const third = await create({ model: "chat-test", input: "z", instructions: "i".repeat(3000) }, bounded);
    expect(third.status).toBe("completed");
    expect((await call("GET", third.id, bounded)).status).toBe(404);
    expect((await call("GET", second.id, bounded)).status).toBe(200);
    const fourth = await create({ model: "chat-test", input: "z", instructions: "i".repeat(1200) }, bounded);
    expect((await call("GET", second.id, bounded)).status).toBe(404);
    expect((await call("GET", fourth.id, bounded)).status).toBe(200);
    expect((await turns.sums(bounded.key.id, Date.now())).bytes).toBeWithin(1200, 3001);
    await world.reload((config) => config);
  });

  test("is continued although all before it repeat more instructions than a request may have", async () => {
    await world.reload((config) => `[server]\nmax_body_bytes = 20000\n${config}`);
    const instructions = "i".repeat(9000);
    let last: string | null = null;
    for (const input of ["One", "Two", "Three", "Four"]) {
      const { id, status } = await create({
        model: "chat-test",
        input,
        instructions,
        previous_response_id: last,
      });
      expect(status).toBe("completed");
      last = id;
    }
    for (const input of ["One", "Four"]) expect(lastText()).toContain(input);
    await world.reload((config) => config);
  });

  test("of megabytes is kept in parts, and one above the largest body is not", async () => {
    const long = "long ".repeat(300_000);
    const first = await create({ model: "chat-test", input: long });
    const second = await create({ model: "chat-test", input: "Two", previous_response_id: first.id });
    expect(second.status ?? second.error).toBe("completed");
    expect(lastText().length).toBeGreaterThan(1_500_000);
    await world.reload((config) => `[server]\nmax_body_bytes = 3000\n${config}`);
    const half = await create({ input: "x".repeat(2000) });
    const { error } = await create({ input: "y".repeat(2000), previous_response_id: half.id });
    expect(error).toMatchObject({ code: "invalid_request" });
    const output = [{ ...say("z".repeat(2000)), id: "msg_z" }];
    world.provider.script((request) => json(responseFrom(request, output)));
    const large = await create({ input: "x".repeat(2000) });
    expect(large.status).toBe("completed");
    expect((await call("GET", large.id)).status).toBe(404);
    await world.reload((config) => config);
  });

  test("that has expired is answered as one that never was", async () => {
    await world.reload((config) => `[retention]\nresponse_hours = 1\n${config}`);
    const { id, output } = await create({ input: "One" });
    const ask = async (response: string, item: string) => [
      await call("GET", response),
      await call("GET", `${response}/input_items`),
      await call("DELETE", response),
      await create({ input: "Two", previous_response_id: response }),
      await create({ input: [{ type: "item_reference", id: item }] }),
    ];
    const itemId = output[1]?.id ?? "";
    setSystemTime(new Date(Date.now() + 61 * 60_000));
    const [expired, unknown] = [await ask(id, itemId), await ask("resp_unknown", "msg_unknown")];
    setSystemTime();
    await world.reload((config) => config);
    const said = (answers: object, ...ids: readonly string[]) =>
      ids
        .reduce((text, each) => text.replaceAll(each, "ID"), JSON.stringify(answers))
        .replaceAll(/req_\w+/g, "");
    expect(said(expired, id, itemId)).toBe(said(unknown, "resp_unknown", "msg_unknown"));
    expect((await call("GET", id)).status).toBe(200);
  });

  test("is counted with what a request would add to it", async () => {
    const first = await create({ input: "One" });
    world.provider.script(json({ object: "response.input_tokens", input_tokens: 42 }));
    const body = { model: "gpt-test", input: "Two", previous_response_id: first.id };
    const counted = await world.ask(caller, { path: "/v1/responses/input_tokens", body });
    expect(counted.headers.get("x-sluice-count")).toBe("exact");
    for (const text of ["One", "Two"]) expect(lastText()).toContain(text);
  });

  test("is not kept of a stream that its client has left, although its end was read for its usage", async () => {
    const leaver = await world.creditCaller();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const event = (type: string, fields: JsonObject) => `data: ${JSON.stringify({ type, ...fields })}\n\n`;
    world.provider.script((request) => {
      const response = { ...responseFrom(request), id: "resp_left" };
      const said =
        event("response.created", { response: { ...response, status: "in_progress", output: [] } }) +
        event("response.output_text.delta", { output_index: 1, delta: "Answer." }) +
        event("response.output_text.done", { output_index: 1, text: "Answer." });
      const ended = event("response.completed", { response });
      return { ...sse(""), steps: [{ write: said }, { until: released }, { write: ended }] };
    });
    const leaving = new AbortController();
    const body = { model: "gpt-test", input: "One", stream: true };
    const response = await world.ask(leaver, { path: "/v1/responses", body, signal: leaving.signal });
    await new StreamReader(response).until("output_text.done");
    leaving.abort();
    const underWay = () => [...world.gateway.ongoing.exchanges()];
    await waitFor(
      () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
      "the client to have left",
    );
    release();
    expect(await world.chargesOf(leaver)).toMatchObject([{ basis: "measured", outcome: "cancelled" }]);
    expect((await call("GET", "resp_left", leaver)).status).toBe(404);
  });
});

test.each(models)("what can be the id of nothing is refused for its type (%s)", async (model) => {
  for (const path of ["/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"]) {
    for (const field of ["previous_response_id", "conversation"]) {
      for (const id of [5, "", true, ["resp_1"], {}]) {
        const response = await world.ask(caller, { path, body: { model, input: "One", [field]: id } });
        const { error } = (await response.json()) as Answered;
        expect([path, id, response.status, error.code, error.param]).toEqual([
          ...[path, id, 400, "invalid_request", field],
        ]);
      }
    }
  }
  expect(world.provider.requests).toHaveLength(0);
});

test("thousands of items are described on another thread, take no rows, and each is found by its id", async () => {
  const { largeBodies, turns: kept } = world.gateway;
  const runRequest = largeBodies.runRequest.bind(largeBodies);
  const record = kept.record.bind(kept);
  const jobs: string[] = [];
  const rows: number[] = [];
  Object.assign(largeBodies, {
    runRequest: (...asked: Parameters<typeof runRequest>) => {
      jobs.push(asked[0].name);
      return runRequest(...asked);
    },
  });
  Object.assign(kept, {
    record: async (...asked: Parameters<typeof record>) => {
      const made = await record(...asked);
      rows.push(made[0]?.items.length ?? 0);
      return made;
    },
  });
  const many = Array.from({ length: 9900 }, (_, place) => say(`${place}`));
  const first = await create({ model: "chat-test", input: many });
  await create({ input: many.map((item, place) => ({ ...item, id: `msg_${place}` })) });
  Object.assign(largeBodies, { runRequest });
  Object.assign(kept, { record });
  expect(jobs).toContain("read");
  expect(rows).toEqual([1, 2000]);
  const page = async (order: string) =>
    (await call("GET", `${first.id}/input_items?limit=2&order=${order}`)).body.data;
  const ids = [...(await page("asc")), ...(await page("desc"))].map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  const second = await create({ input: ids.map((id) => ({ type: "item_reference", id })) });
  expect(second.status).toBe("completed");
  expect(lastBody()["input"]).toEqual([say("0"), say("1"), say("9899"), say("9898")]);
  // What was referred to is found again, in the response that it was sent to.
  await create({
    input: [
      { type: "item_reference", id: ids[2] ?? "" },
      { type: "item_reference", id: ids[1] ?? "" },
    ],
  });
  expect(lastBody()["input"]).toEqual([say("9899"), say("1")]);
});

test("an item that was sent twice under one id is the newer one, also beside an older item", async () => {
  const item = (text: string, id: string) => ({ ...say(text), id });
  await create({ input: [item("Old", "msg_twice"), item("Beside it", "msg_beside")] });
  await create({ input: [item("New", "msg_twice")] });
  const references = ["msg_twice", "msg_beside"].map((id) => ({ type: "item_reference", id }));
  await create({ input: references });
  expect(lastBody()["input"]).toEqual([item("New", "msg_twice"), item("Beside it", "msg_beside")]);
});

describe("the settings", () => {
  const keyOf = (byte: number) => Buffer.alloc(32, byte).toString("base64");

  test("encrypt what is kept, and another key finds nothing of it", async () => {
    const withKey = (byte: number) => (config: string) =>
      `[responses]\nencryption_key = "file:seal${byte}"\n${config}`;
    for (const byte of [1, 2]) world.write(`seal${byte}`, keyOf(byte));
    const plain = await create({ input: "in the clear" });
    await world.reload(withKey(1));
    const sealed = await create({ input: "a secret", previous_response_id: plain.id });
    const stored = await world.running.store.turns.find(caller.key.id, sealed.id, Date.now());
    expect(Buffer.from(stored?.body ?? []).includes("secret")).toBe(false);
    expect((await create({ input: "Two", previous_response_id: sealed.id })).status).toBe("completed");
    expect(lastText()).toContain("a secret");
    await world.reload(withKey(2));
    expect((await call("GET", sealed.id)).status).toBe(404);
    const { error } = await create({ input: "Two", previous_response_id: sealed.id });
    expect(error.code).toBe("previous_response_not_found");
    const reference = { type: "item_reference", id: sealed.output[0]?.id ?? "" };
    expect((await create({ input: [reference] })).error.code).toBe("not_found");
    await world.reload((config) => config);
  });

  test.each(["[retention]\nresponse_hours = 0", "[routes]\nstored_responses = false"])(
    "keep nothing: %s",
    async (setting) => {
      const before = await create({ input: "One" });
      await world.reload((config) => `${setting}\n${config}`);
      const { error } = await create({ input: "Two", previous_response_id: before.id });
      expect(error).toMatchObject({ code: "invalid_request", param: "previous_response_id" });
      expect(error.message).toContain("does not store responses");
      expect((await call("GET", before.id)).body.error).toMatchObject({ code: "not_found" });
      const sums = await world.running.store.turns.sums(caller.key.id, Date.now());
      const after = await create({ input: "Three" });
      expect(lastBody()["store"]).toBeUndefined();
      expect(await world.running.store.turns.sums(caller.key.id, Date.now())).toEqual(sums);
      await world.reload((config) => config);
      expect((await call("GET", after.id)).status).toBe(404);
      expect((await call("GET", before.id)).status).toBe(200);
    },
  );

  test("leave it to the provider: store goes up as it was sent, and ids are the provider's", async () => {
    await world.reload((config) => `[responses]\nstate = "provider"\n${config}`);
    const first = await create({ input: "One" });
    expect(lastBody()["store"]).toBeUndefined();
    await create({ input: "Two", previous_response_id: first.id });
    expect(lastBody()).toMatchObject({ input: "Two", previous_response_id: first.id });
    expect((await call("GET", first.id)).status).toBe(404);
    await world.reload((config) => config);
    // What a provider has kept before, it is asked for, and pinned to it.
    await create({ input: "Three", previous_response_id: first.id });
    expect(lastBody()).toMatchObject({ input: "Three", previous_response_id: first.id });
    expect(lastBody()["store"]).toBeUndefined();
  });
});
