import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { storedBytes, turnPieces } from "../../src/gateway/turns/turn-body.ts";
import { writtenAhead } from "../../src/gateway/turns/write-ahead.ts";
import { ByteLimiter } from "../../src/limits/byte-limiter.ts";
import { FakeClock } from "../support/clock.ts";
import { ConversationWorld } from "./conversation-world.ts";
import { say } from "./turn-world.ts";

let conversations: ConversationWorld;

beforeAll(async () => {
  conversations = await ConversationWorld.start();
});
afterAll(() => conversations.turns.world[Symbol.asyncDispose]());

/** What is written to the store meanwhile. */
async function written(change: () => Promise<unknown>) {
  const { store } = conversations.turns.world.running;
  const [parts, rows] = [spyOn(store, "recordResponsePart"), spyOn(store, "recordTurn")];
  try {
    await change();
    const partBytes = parts.mock.calls.reduce((sum, [part]) => sum + part.body.length, 0);
    const rowBytes = rows.mock.calls.reduce((sum, [row]) => sum + row.body.length, 0);
    return { parts: parts.mock.calls.length, partBytes, rows: rows.mock.calls.length, rowBytes };
  } finally {
    parts.mockRestore();
    rows.mockRestore();
  }
}

const large = (letter: string, bytes: number) => say(letter.repeat(bytes));

/** The first letter of what each item says, and how long that is. */
async function shortly(id: string) {
  return (await conversations.textsOf(id)).map((text) => `${text[0]}${text.length}`);
}

for (const encryption of ["plain", "encrypted"]) {
  describe(`a large conversation, ${encryption}`, () => {
    beforeAll(async () => {
      const { world } = conversations.turns;
      if (encryption === "plain") return;
      world.write("seal", Buffer.alloc(32, 7).toString("base64"));
      await world.reload((config) => `[responses]\nencryption_key = "file:seal"\n${config}`);
    });

    test("is not written again when its metadata change", async () => {
      const { call, begin } = conversations;
      const id = await begin(large("a", 3_000_000), say("b"));
      const change = await written(() => call("POST", `/${id}`, { metadata: { topic: "new" } }));
      expect(change).toMatchObject({ parts: 0, partBytes: 0, rows: 1 });
      expect(change.rowBytes).toBeLessThan(1000);
      expect((await call("GET", `/${id}`)).body).toMatchObject({ id, metadata: { topic: "new" } });
      expect(await shortly(id)).toEqual(["a3000000", "b1"]);
    });

    test("is written with what is new when items are added, and found as a whole", async () => {
      const { call, begin } = conversations;
      const id = await begin(large("a", 2_000_000));
      const small = await written(() => call("POST", `/${id}/items`, { items: [large("b", 20_000)] }));
      expect(small).toMatchObject({ parts: 0, rows: 1 });
      expect(small.rowBytes).toBeWithin(20_000, 21_000);
      const more = await written(() => call("POST", `/${id}/items`, { items: [large("c", 600_000)] }));
      expect(more).toMatchObject({ parts: 3, rows: 1 });
      expect(more.partBytes + more.rowBytes).toBeWithin(620_000, 622_000);
      await call("POST", `/${id}`, { metadata: { topic: "new" } });
      await call("POST", `/${id}/items`, { items: [say("d")] });
      expect(await shortly(id)).toEqual(["a2000000", "b20000", "c600000", "d1"]);
      expect((await call("GET", `/${id}`)).body).toMatchObject({ metadata: { topic: "new" } });
    });

    test("goes on with a response, which adds what is new in it", async () => {
      const { begin, turns } = conversations;
      const id = await begin(large("a", 500_000));
      const { recording } = (await stored(id)) ?? {};
      const change = await written(() => turns.create({ conversation: id, input: "And?" }));
      expect(change.parts).toBe(0);
      expect((await stored(id))?.recording).toEqual(recording ?? null);
      expect((await shortly(id)).slice(0, 2)).toEqual(["a500000", "A4"]);
    });

    test("loses an item that is deleted, wherever that is stored", async () => {
      const { call, begin, itemsOf } = conversations;
      const id = await begin(large("a", 300_000), large("b", 300_000));
      await call("POST", `/${id}/items`, { items: [say("c"), say("d")] });
      const [first, , third] = await itemsOf(id);
      const ofEnd = await written(() => call("DELETE", `/${id}/items/${third?.id}`));
      expect(ofEnd).toMatchObject({ parts: 0, rows: 1 });
      expect(await shortly(id)).toEqual(["a300000", "b300000", "d1"]);
      const before = await stored(id);
      await call("DELETE", `/${id}/items/${first?.id}`);
      expect(await shortly(id)).toEqual(["b300000", "d1"]);
      expect((await stored(id))?.recording?.id).not.toBe(before?.recording?.id ?? "");
    });

    test("is whole although an earlier change left a part in the place of the next", async () => {
      const { call, begin, turns } = conversations;
      const id = await begin(large("a", 300_000));
      const { recording } = (await stored(id)) ?? {};
      const left = {
        recordingId: recording?.id ?? "",
        sequence: recording?.parts ?? 0,
        body: Buffer.from("x"),
      };
      await turns.world.running.store.recordResponsePart(left);
      await call("POST", `/${id}/items`, { items: [large("b", 100_000)] });
      expect(await shortly(id)).toEqual(["a300000", "b100000"]);
      expect((await stored(id))?.recording?.id).not.toBe(recording?.id ?? "");
    });
  });
}

test("a conversation is encrypted with the first items that are added under a key", async () => {
  const { call, begin, turns } = conversations;
  await turns.world.reload((config) => config);
  const id = await begin(large("a", 300_000));
  await turns.world.reload((config) => `[responses]\nencryption_key = "file:seal"\n${config}`);
  await call("POST", `/${id}/items`, { items: [say("b")] });
  const found = await turns.world.running.store.turns.find(turns.caller.key.id, id, Date.now());
  expect(Buffer.from(found?.body ?? []).includes("aaaa")).toBe(false);
  expect(await shortly(id)).toEqual(["a300000", "b1"]);
});

test("a conversation as an earlier build wrote it is found, and goes on", async () => {
  const { call, begin, textsOf, turns } = conversations;
  const { caller, world } = turns;
  await world.reload((config) => config);
  const { store } = world.running;
  for (const bytes of [10, 400_000]) {
    const id = await begin(say("x"));
    const { no } = (await stored(id)) ?? { no: 0 };
    const head = Buffer.from(
      JSON.stringify({ id, object: "conversation", created_at: 1, metadata: { of: "old" } }),
    );
    const item = { raw: Buffer.from(JSON.stringify(large("a", bytes))), id: "msg_1", type: "message" };
    const content = { head, input: [{ ...item, callId: null, isLeftOut: false }], output: [] };
    const written = await writtenAhead(turnPieces(id, content, null), (part) =>
      store.recordResponsePart(part),
    );
    const facts = {
      keyId: caller.key.id,
      id,
      parentId: null,
      model: "",
      provider: "",
      items: [],
      replaces: no,
    };
    const times = { createdAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
    await store.recordTurn({
      ...facts,
      ...times,
      bytes: storedBytes(content),
      keyBytes: 1_000_000,
      ...written,
    });
    expect((await call("GET", `/${id}`)).body).toMatchObject({ metadata: { of: "old" } });
    await call("POST", `/${id}`, { metadata: { of: "new" } });
    await call("POST", `/${id}/items`, { items: [say("b")] });
    expect((await textsOf(id)).map((text) => text.length)).toEqual([bytes, 1]);
    expect((await call("GET", `/${id}`)).body).toMatchObject({ metadata: { of: "new" } });
  }
});

test("a client that adds large items is limited by what it sends, not by what was there", async () => {
  const { call, begin, turns } = conversations;
  const { gateway } = turns.world;
  const { conversationWrites } = gateway;
  const limits = { maxBytes: 4_000_000, bytesPerMs: 0.001 };
  Object.assign(gateway, { conversationWrites: new ByteLimiter(new FakeClock(), limits) });
  const id = await begin(large("a", 2_000_000));
  const statuses: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    statuses.push((await call("POST", `/${id}/items`, { items: [large("b", 400_000)] })).status);
    statuses.push((await call("POST", `/${id}`, { metadata: { times: String(times) } })).status);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
  Object.assign(gateway, { conversationWrites });
});

function stored(id: string) {
  const { caller, world } = conversations.turns;
  return world.running.store.turns.end(caller.key.id, id, Date.now());
}
