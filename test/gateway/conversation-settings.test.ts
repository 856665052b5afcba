import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ByteLimiter } from "../../src/limits/byte-limiter.ts";
import { FakeClock } from "../support/clock.ts";
import { ConversationWorld } from "./conversation-world.ts";
import { say, type TurnWorld } from "./turn-world.ts";
import type { Caller, World } from "./world.ts";

let turns: TurnWorld;
let world: World;
let caller: Caller;
let create: TurnWorld["create"];
let call: ConversationWorld["call"];
let begin: ConversationWorld["begin"];
let textsOf: ConversationWorld["textsOf"];

beforeAll(async () => {
  const conversations = await ConversationWorld.start();
  ({ turns, call, begin, textsOf } = conversations);
  ({ world, caller, create } = turns);
});
beforeEach(() => turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

describe("the settings", () => {
  const off = (config: string) => config.replace("conversations = true", "conversations = false");

  test("turn conversations off: there is no such route, and providers are asked for their own", async () => {
    const id = await begin(say("One"));
    await world.reload(off);
    const nowhere = await call("GET", "x/y");
    for (const [method, path] of [
      ["POST", ""],
      ["GET", `/${id}`],
      ["DELETE", `/${id}`],
      ["GET", `/${id}/items`],
    ]) {
      const { status, body } = await call(method ?? "", path ?? "", method === "POST" ? {} : undefined);
      expect([status, body.error.code]).toEqual([404, nowhere.body.error.code]);
    }
    const { error } = await create({ conversation: id, input: "Two" });
    expect([error.code, error.param]).toEqual(["not_found", "conversation"]);
    const refused = await create({ model: "claude-test", conversation: id, input: "Two" });
    expect([refused.error.code, refused.error.param]).toEqual(["not_found", "conversation"]);
    expect(world.provider.requests).toEqual([]);
    await world.reload((config) => config);
    expect(await textsOf(id)).toEqual(["One"]);
  });

  test.each(["[retention]\nresponse_hours = 0", '[responses]\nstate = "provider"'])(
    "keep nothing, conversations neither: %s",
    async (setting) => {
      const id = await begin();
      await world.reload((config) => `${setting}\n${config}`);
      expect((await call("POST", "", {})).body.error.code).toBe("not_found");
      expect((await call("GET", `/${id}`)).body.error.code).toBe("not_found");
      expect((await create({ conversation: id, input: "Two" })).error.code).toBe("not_found");
      await world.reload((config) => config);
    },
  );

  test("encrypt a conversation, and another key does not find it", async () => {
    const withKey = (byte: number) => (config: string) =>
      `[responses]\nencryption_key = "file:seal${byte}"\n${config}`;
    for (const byte of [1, 2]) world.write(`seal${byte}`, Buffer.alloc(32, byte).toString("base64"));
    await world.reload(withKey(1));
    const { id } = (await call("POST", "", { items: [say("a secret")], metadata: { of: "secrecy" } })).body;
    await create({ conversation: id, input: "another secret" });
    const stored = await world.running.store.turns.find(caller.key.id, id, Date.now());
    for (const word of ["secret", "secrecy"])
      expect(Buffer.from(stored?.body ?? []).includes(word)).toBe(false);
    expect(await textsOf(id)).toContain("another secret");
    await world.reload(withKey(2));
    expect((await call("GET", `/${id}`)).status).toBe(404);
    expect((await create({ conversation: id, input: "x" })).error.code).toBe("not_found");
    await world.reload((config) => config);
  });

  test("bound what a key keeps, empty conversations too: that which was added to last stays longest", async () => {
    await world.reload((config) => `[retention]\nresponse_bytes_per_key = 4050\n${config}`);
    const bounded = await world.creditCaller();
    const made: string[] = [];
    const begun = async () => {
      made.push((await call("POST", "", { metadata: { about: "x".repeat(500) } }, bounded)).body.id);
    };
    for (let count = 0; count < 3; count += 1) await begun();
    await call("POST", `/${made[0]}/items`, { items: [say("used")] }, bounded);
    for (let count = 0; count < 4; count += 1) await begun();
    const found = await Promise.all(
      made.map(async (id) => (await call("GET", `/${id}`, undefined, bounded)).status),
    );
    expect(found).toEqual([200, 404, 200, 200, 200, 200, 200]);
    const { bytes } = await world.running.store.turns.sums(bounded.key.id, Date.now());
    expect(bytes).toBeLessThanOrEqual(4050);
    await world.reload((config) => config);
  });

  test("keep a conversation that is added to, however long ago that was done last", async () => {
    await world.reload((config) => `[retention]\nresponse_bytes_per_key = 5500\n${config}`);
    const bounded = await world.creditCaller();
    const { id } = (await call("POST", "", { items: [say("x".repeat(1000))] }, bounded)).body;
    await create({ input: "y".repeat(3000) }, bounded);
    await create({ conversation: id, input: "z".repeat(1000) }, bounded);
    expect((await call("GET", `/${id}/items`, undefined, bounded)).body.data).toHaveLength(4);
    await world.reload((config) => config);
  });

  test("refuse a conversation that is more than a key may keep, and keep what was there", async () => {
    await world.reload((config) => `[retention]\nresponse_bytes_per_key = 3000\n${config}`);
    const bounded = await world.creditCaller();
    const long = say("x".repeat(2950));
    const none = await call("POST", "", { items: [long] }, bounded);
    expect([none.status, none.body.error.param]).toEqual([400, "items"]);
    expect(none.body.error.message).toContain("3000 bytes");
    const { id } = (await call("POST", "", { items: [say("x".repeat(1000))] }, bounded)).body;
    const more = await call("POST", `/${id}/items`, { items: [long] }, bounded);
    expect([more.status, more.body.error.param]).toEqual([400, "items"]);
    expect((await create({ conversation: id, input: "y".repeat(2500) }, bounded)).error.param).toBe("input");
    // With the response, or its answer, it is more than that.
    for (const input of ["z".repeat(900), "z".repeat(500)]) {
      await create({ conversation: id, input }, bounded);
      expect((await call("GET", `/${id}/items`, undefined, bounded)).body.data).toHaveLength(4);
    }
    await world.reload((config) => config);
  });

  test("keep a conversation for 30 days after it was added to last, whatever becomes of its responses", async () => {
    const id = await begin();
    const response = await create({ conversation: id, input: "One" });
    const { turns: kept } = world.running.store;
    const inDays = (days: number) => Date.now() + days * 86_400_000;
    expect(await kept.find(caller.key.id, response.id, inDays(2))).toBeNull();
    expect(await kept.find(caller.key.id, id, inDays(29.9))).not.toBeNull();
    expect(await kept.find(caller.key.id, id, inDays(30.1))).toBeNull();
  });

  test("that is written too often is refused for a while, and its key alone", async () => {
    const { conversationWrites } = world.gateway;
    const clock = new FakeClock();
    const limits = { maxBytes: 5000, bytesPerMs: 1 };
    Object.assign(world.gateway, { conversationWrites: new ByteLimiter(clock, limits) });
    const id = await begin(say("x".repeat(2000)));
    const path = `/${id}`;
    expect((await call("POST", path, { metadata: { turn: "1" } })).status).toBe(200);
    const refused = await call("POST", path, { metadata: { turn: "2" } });
    expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect((await call("GET", path)).body).toMatchObject({ metadata: { turn: "1" } });
    expect((await call("POST", "", { items: [say("x".repeat(2000))] }, turns.other)).status).toBe(200);
    clock.advance(3000);
    expect((await call("POST", path, { metadata: { turn: "3" } })).status).toBe(200);
    Object.assign(world.gateway, { conversationWrites });
  });

  test("limit the items of a conversation, however short they are", async () => {
    await world.reload((config) => `[server]\nmax_list_items = 3\n${config}`);
    const id = await begin(say("one"), say("two"));
    expect((await call("POST", `/${id}/items`, { items: [say("three")] })).status).toBe(200);
    const more = await call("POST", `/${id}/items`, { items: [say("four")] });
    expect([more.status, more.body.error.param]).toEqual([400, "items"]);
    expect(await textsOf(id)).toHaveLength(3);
    await world.reload((config) => config);
  });

  test("limit a conversation to what a request may have", async () => {
    await world.reload((config) => `[server]\nmax_body_bytes = 3000\n${config}`);
    const id = await begin(say("x".repeat(2000)));
    const more = await call("POST", `/${id}/items`, { items: [say("y".repeat(2000))] });
    expect([more.status, more.body.error.param]).toEqual([400, "items"]);
    expect((await create({ conversation: id, input: "y".repeat(2000) })).error.code).toBe("invalid_request");
    expect(await textsOf(id)).toHaveLength(1);
    await world.reload((config) => config);
    const [long, longer] = [say("x".repeat(5_000_000)), say("y".repeat(4_000_000))];
    expect((await call("POST", "", { items: [long, longer] })).body.error.param).toBe("items");
    const full = await begin(long);
    expect((await create({ conversation: full, input: [longer] })).error.code).toBe("invalid_request");
    expect(await textsOf(full)).toHaveLength(1);
  });
});
