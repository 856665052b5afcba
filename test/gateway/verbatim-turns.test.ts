import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { WantedRoom } from "../../src/store/turn-records.ts";
import { json } from "../support/answers.ts";
import type { SeenRequest } from "../support/provider.ts";
import { type Answered, responseFrom, say, TurnWorld } from "./turn-world.ts";

/** Short turns are stored as they came and went, and belong to their key by their own row. */

let turns: TurnWorld;
beforeAll(async () => {
  turns = await TurnWorld.start();
});
beforeEach(() => turns.reset());
afterAll(() => turns.world[Symbol.asyncDispose]());

async function asked(body: string): Promise<Answered> {
  const { world, caller } = turns;
  const headers = { authorization: `Bearer ${caller.secret}`, "content-type": "application/json" };
  const response = await fetch(`${world.running.url}/v1/responses`, { method: "POST", headers, body });
  return (await response.json()) as Answered;
}

for (const encryption of ["plain", "encrypted"]) {
  describe(`a short turn, ${encryption}`, () => {
    beforeAll(async () => {
      if (encryption === "plain") return;
      turns.world.write("seal", Buffer.alloc(32, 7).toString("base64"));
      await turns.world.reload((config) => `[responses]\nencryption_key = "file:seal"\n${config}`);
    });

    test("is read, listed, referred to and continued, however its JSON is written", async () => {
      const odd = `\n{ "metadata": {"input": "no"} , "input" : [ {"role":"user", "content":"Gr\\u00fc\\u00dfe \\ud83d\\ude00"},
        {"id":"msg_own", "type":"message", "role":"user", "content":[{"type":"input_text","text":"Two"}]} ] , "model":"gpt-test" }\n`;
      const made = await asked(odd);
      const got: Answered = (await turns.call("GET", made.id)).body;
      expect(got).toEqual({ ...made, store: true });
      const { body: listed } = await turns.call("GET", `${made.id}/input_items?order=asc`);
      expect(listed.data.map(({ id }) => id)).toEqual([expect.stringMatching(/^item_/), "msg_own"]);
      expect(listed.data[0]).toMatchObject({ content: [{ text: "Grüße 😀" }] });
      const ids = [...listed.data, ...made.output].map(({ id }) => id);
      await turns.create({ input: [...ids.map((id) => ({ type: "item_reference", id })), say("Three")] });
      for (const text of ["Two", "Three", "Answer"]) expect(turns.lastText()).toContain(text);
      await turns.create({ input: "Four", previous_response_id: made.id });
      expect(turns.lastBody()["input"]).toHaveLength(5);
    });

    test("is read, listed, referred to and continued after it was streamed", async () => {
      const made = await turns.streamed({ input: [say("Grüße")] });
      const got: Answered = (await turns.call("GET", made.id)).body;
      expect(got).toEqual({ ...made, store: true });
      const { body: listed } = await turns.call("GET", `${made.id}/input_items`);
      expect(listed.data).toMatchObject([{ content: [{ text: "Grüße" }] }]);
      const ids = [...listed.data, ...made.output].map(({ id }) => id);
      await turns.create({ input: [...ids.map((id) => ({ type: "item_reference", id })), say("Two")] });
      for (const text of ["Grüße", "Two", "Answer"]) expect(turns.lastText()).toContain(text);
      await turns.create({ input: "Three", previous_response_id: made.id });
      expect(turns.lastBody()["input"]).toHaveLength(4);
    });

    test("may be one text", async () => {
      const made = await turns.create({ input: "One" });
      await turns.create({ input: "Two", previous_response_id: made.id });
      expect(turns.lastText()).toContain("One");
    });

    test("is read and continued by no other key", async () => {
      const made = await turns.create({ input: "One" });
      const { length } = turns.world.provider.requests;
      const { error } = await turns.create({ input: "Two", previous_response_id: made.id }, turns.other);
      expect(error.code).toBe("previous_response_not_found");
      for (const method of ["GET", "DELETE"])
        expect((await turns.call(method, made.id, turns.other)).status).toBe(404);
      expect((await turns.call("GET", made.id)).status).toBe(200);
      expect(turns.world.provider.requests).toHaveLength(length);
    });
  });
}

describe("of a server that does not say what it stores", () => {
  const reasoning = { id: "rs_kept_there", type: "reasoning", summary: [], content: [] };

  function silent(request: SeenRequest): JsonObject {
    const { store: _, ...response } = responseFrom(request);
    return { ...response, output: [reasoning, ...(response["output"] as JsonObject[])] };
  }

  beforeEach(() => turns.world.provider.script((request) => json(silent(request))));

  test("a response that was deleted is continued neither here nor there", async () => {
    const made = await turns.create({ model: "proxy-test", input: "One" });
    expect((await turns.call("DELETE", made.id)).status).toBe(200);
    const { length } = turns.world.provider.requests;
    const continuing = { model: "proxy-test", input: "Two", previous_response_id: made.id };
    expect((await turns.create(continuing)).error.code).toBe("previous_response_not_found");
    expect(turns.world.provider.requests).toHaveLength(length);
  });

  test("an item without content goes back for its key, and for no other", async () => {
    await turns.create({ model: "proxy-test", input: "One" });
    const again = { model: "proxy-test", input: [say("One"), reasoning, say("Two")] };
    expect((await turns.create(again)).status).toBe("completed");
    const { length } = turns.world.provider.requests;
    const { error } = await turns.create(again, turns.other);
    expect([error.code, error.param]).toEqual(["not_found", "input[1].id"]);
    expect(turns.world.provider.requests).toHaveLength(length);
  });
});

test("a response with a name twice reaches its client, and is not found afterwards", async () => {
  turns.world.provider.script((request) => {
    const text = JSON.stringify({ ...responseFrom(request), id: "resp_twice" });
    const headers = { "content-type": "application/json" };
    return { ...json({}), headers, steps: [{ write: text.replace("{", '{"status":"completed",') }] };
  });
  const made = await turns.create({ input: "One" });
  expect(made.id).toBe("resp_twice");
  expect((await turns.call("GET", made.id)).status).toBe(404);
});

test("room for a long turn is made before its settle, and a short one needs none", async () => {
  const { turns: stored } = turns.world.running.store;
  const makeRoom = stored.makeRoom.bind(stored);
  const wanted: WantedRoom[] = [];
  const record = (room: WantedRoom) => {
    wanted.push(room);
    return wanted.length > 2 ? Promise.reject(new Error("not now")) : makeRoom(room);
  };
  Object.assign(stored, { makeRoom: record });
  const made: Answered[] = [];
  for (const bytes of [10, 9_000, 20_000, 9_001]) made.push(await turns.create({ input: "x".repeat(bytes) }));
  Object.assign(stored, { makeRoom });
  expect(wanted.map(({ keyId }) => keyId)).toEqual(Array(3).fill(turns.caller.key.id));
  expect(wanted.map(({ bytes }) => Math.floor(bytes / 9_000))).toEqual([1, 2, 1]);
  for (const { id } of made) expect((await turns.call("GET", id)).status).toBe(200);
});

describe("the id of an item that was sent without one", () => {
  const firstInput = async (id: string) =>
    (await turns.call("GET", `${encodeURIComponent(id)}/input_items`)).body.data[0]?.id ?? "";

  test("is made from the id of the response, so that the item is found by that", async () => {
    const { id } = await turns.create({ input: "Named by nobody" });
    const item = await firstInput(id);
    expect(item).toBe(`${id.replace("resp_", "item_")}_000000`);
    const again = await turns.create({ input: [{ type: "item_reference", id: item }] });
    expect(turns.lastText()).toContain("Named by nobody");
    for (const each of [id, again.id]) await turns.call("DELETE", each);
    const { error } = await turns.create({ input: [{ type: "item_reference", id: item }] });
    expect(error).toMatchObject({ code: "not_found", param: "input[0].id" });
  });

  test("is taken out again where the item is sent again, however long it and its request are", async () => {
    const responseId = `resp_${"a1".repeat(30)}`;
    turns.world.provider.script((request) => json({ ...responseFrom(request), id: responseId }));
    await turns.create({ input: [say("Named by nobody")] });
    const [item] = (await turns.call("GET", `${responseId}/input_items`)).body.data;
    expect(item?.id).toHaveLength(72);
    for (const text of ["short", "long ".repeat(4_000)]) {
      await turns.create({ input: [item ?? say(""), say(text)] });
      expect(turns.lastText()).toContain("Named by nobody");
      expect(turns.lastText()).not.toContain("item_a1");
    }
  });

  test("begins with the time where a response has an unusual id, so that its row is beside the last one", async () => {
    const made = async (id: string) => {
      turns.world.provider.script((request) => json({ ...responseFrom(request), id }));
      await turns.create({ input: `Named ${id}` });
      return firstInput(id);
    };
    const timeOf = (id: string) => id.slice("item_".length, -14);
    const [before, first, second] = [Date.now(), await made("odd:1"), await made("resp_odd-2")];
    for (const id of [first, second]) expect(id).toMatch(/^item_[0-9A-Za-z]{22}$/);
    expect(Number.parseInt(timeOf(first), 36)).toBeWithin(before, Date.now() + 1);
    expect(timeOf(second) >= timeOf(first)).toBe(true);
    expect(second).not.toBe(first);
    await turns.create({ input: [{ type: "item_reference", id: second }] });
    expect(turns.lastText()).toContain("Named resp_odd-2");
  });
});
