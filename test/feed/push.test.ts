import { expect } from "bun:test";
import { createHmac } from "node:crypto";
import { readFeed } from "../../src/admin/feed/feed.ts";
import type { FeedEntryView } from "../../src/admin/feed/schema.ts";
import { msPerDay, msPerMinute } from "../../src/base/clock.ts";
import type { FeedSettings } from "../../src/config/settings.ts";
import { FeedSender, type FeedSenderOptions } from "../../src/feed/sender.ts";
import type { Store } from "../../src/store/store.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import type { GatewayStore } from "../store/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { HookServer } from "../support/hook.ts";

const secret = "feed-signing-canary";

function senderOf(
  store: Store,
  clock: FakeClock,
  receiver: () => Pick<FeedSettings, "url"> & Partial<FeedSettings>,
  own: Partial<FeedSenderOptions> = {},
) {
  const logged: string[] = [];
  const note = (_: unknown, text?: string) => logged.push(text ?? "");
  const sender = new FeedSender({
    store,
    clock,
    log: { info: note, warn: note, error: note },
    settings: () => {
      const { url, sinceMs = null } = receiver();
      return { feed: { url, secret, sinceMs } };
    },
    lead: async () => true,
    ...own,
  });
  return { sender, logged };
}

/** A key with a top-up and so many charges. */
async function charged(store: GatewayStore, count: number, atMs: (index: number) => number = () => 0) {
  const key = keyRecord({ label: "chat" });
  await store.insertKey(key, 1_000_000);
  const items = Array.from({ length: count }, (_, index) => settleItem(key.id, 1, { atMs: atMs(index) }));
  await store.charge(items);
  return key;
}

const entriesIn = (body: string) => (JSON.parse(body) as { data: FeedEntryView[] }).data;
const idsIn = (hook: HookServer) => hook.posts.map(({ body }) => entriesIn(body).map(({ id }) => id));
const keysOf = (hook: HookServer) => hook.posts.map(({ headers }) => headers.get("idempotency-key"));
const lastCursorsIn = (hook: HookServer) =>
  hook.posts.map(({ body }) => entriesIn(body).at(-1)?.cursor ?? null);
const failing = (status: number) => () => new Response("no", { status });

testEachStore("entries are pushed in order, signed, up to a hundred a post", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = await charged(store, 240);
  const { sender } = senderOf(store, clock, () => hook);
  await sender.check();
  expect(idsIn(hook).map((ids) => ids.length)).toEqual([100, 100, 41]);
  expect(idsIn(hook).flat()).toEqual(Array.from({ length: 241 }, (_, index) => index + 1));
  const { data } = await readFeed({ store, clock }, { limit: 1_000 });
  expect(hook.posts.flatMap(({ body }) => entriesIn(body))).toEqual(data);
  const [post] = hook.posts;
  const seconds = Math.floor(clock.wallMs() / 1000);
  const digest = createHmac("sha256", secret).update(`${seconds}.${post?.body}`).digest("hex");
  expect(post?.headers.get("x-sluice-signature")).toBe(`t=${seconds},v1=${digest}`);
  expect(sender.state).toMatchObject({ push: { throughId: 241 }, lag: { entries: 0, sinceMs: null } });
  await sender.check();
  await store.charge([settleItem(key.id, 5)]);
  await sender.check();
  expect(idsIn(hook).slice(3)).toEqual([[242]]);
  expect(sender.posts).toEqual({ accepted: 4, rejected: 0, failed: 0 });
  await store.close();
});

testEachStore(
  "a post's key is the cursor of its last entry: after a restore, a new entry with a lost one's id has another",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    await charged(store, 120);
    const { sender } = senderOf(store, clock, () => hook);
    hook.answer = failing(503);
    await sender.check();
    hook.answer = () => new Response("ok");
    clock.advance(msPerMinute);
    await senderOf(store, clock, () => hook).sender.check();
    expect(idsIn(hook).map((ids) => ids.at(-1))).toEqual([100, 100, 121]);
    expect(keysOf(hook)).toEqual(lastCursorsIn(hook));
    await store.close();
  },
);

testEachStore("a receiver that fails gets the same bytes again, and nothing is skipped", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = await charged(store, 3);
  const { sender, logged } = senderOf(store, clock, () => hook);
  hook.answer = failing(503);
  const pausesMs: number[] = [];
  for (let attempt = 0; attempt < 9; attempt += 1) {
    // What is charged meanwhile, or renamed, is not in the post that is repeated.
    await store.charge([settleItem(key.id, 1)]);
    await store.updateKey(key.id, { label: `chat-${attempt}` });
    await sender.check();
    await sender.check();
    const dueAtMs = sender.state?.push.dueAtMs ?? 0;
    pausesMs.push(dueAtMs - clock.wallMs());
    clock.advance(dueAtMs - clock.wallMs());
  }
  expect(pausesMs.map((ms) => ms / 1000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256]);
  for (const status of [429, 408, 500]) {
    hook.answer = failing(status);
    await sender.check();
    clock.advance(300_000);
  }
  expect(sender.state?.push).toMatchObject({ problem: "returned 500", stoppedAtMs: null });
  hook.answer = () => new Response("ok");
  await sender.check();
  const bodies = hook.posts.slice(0, 13).map(({ body }) => body);
  expect(new Set(bodies).size).toBe(1);
  expect(idsIn(hook).at(-2)).toEqual([1, 2, 3, 4, 5]);
  expect(idsIn(hook).at(-1)).toEqual([6, 7, 8, 9, 10, 11, 12, 13]);
  expect(logged).toEqual([
    "the feed is not delivered yet: its receiver returned 503",
    "the feed's receiver has accepted the post",
  ]);
  await store.close();
});

testEachStore("a receiver's 4xx stops the feed until it is resumed", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  await charged(store, 3);
  const { sender, logged } = senderOf(store, clock, () => hook);
  hook.answer = failing(422);
  await sender.check();
  clock.advance(msPerDay);
  await sender.check();
  // Nor does another gateway, or this one after a restart.
  await senderOf(store, clock, () => hook).sender.check();
  expect(hook.posts).toHaveLength(1);
  expect(logged).toEqual(["the ledger's feed has stopped: its receiver returned 422"]);
  expect(sender.problem(clock.wallMs())).toEqual({
    kind: "feed_stopped",
    sinceMs: clock.wallMs() - msPerDay,
    throughId: 0,
    problem: "returned 422",
  });
  hook.answer = () => new Response("ok");
  expect(await store.feed.push.resume()).toBe(true);
  await sender.check();
  expect(idsIn(hook)).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3, 4],
  ]);
  expect(sender.problem(clock.wallMs())).toBeNull();
  expect(await store.feed.push.resume()).toBe(false);
  await store.close();
});

testEachStore(
  "a reload sends to the new receiver at once, and to none if the section is gone",
  async (database) => {
    const clock = new FakeClock();
    using old = new HookServer();
    using next = new HookServer();
    const store = await database.openGateway(clock);
    const key = await charged(store, 3);
    let receiver: HookServer | null = old;
    const { sender } = senderOf(store, clock, () => old, {
      settings: () => ({ feed: receiver && { url: receiver.url, secret, sinceMs: null } }),
    });
    old.answer = failing(404);
    await sender.check();
    receiver = next;
    next.answer = failing(503);
    await sender.check();
    receiver = old;
    old.answer = () => new Response("ok");
    await sender.check();
    expect([old.posts.length, next.posts.length]).toEqual([2, 1]);
    expect(new Set([...old.posts, ...next.posts].map(({ body }) => body)).size).toBe(1);
    receiver = null;
    await store.charge([settleItem(key.id, 1)]);
    await sender.check();
    expect(sender.state).toBeNull();
    receiver = next;
    next.answer = () => new Response("ok");
    await sender.check();
    expect(idsIn(next).at(-1)).toEqual([5]);
    await store.close();
  },
);

testEachStore("`since` is where the feed begins, and is read once", async (database) => {
  const clock = new FakeClock();
  const nowMs = clock.wallMs();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  await charged(store, 6, (index) => nowMs - (6 - index) * msPerDay);
  let sinceMs = nowMs - 2 * msPerDay;
  const { sender } = senderOf(store, clock, () => ({ url: hook.url, sinceMs }));
  await sender.check();
  expect(idsIn(hook)).toEqual([[6, 7]]);
  sinceMs = 0;
  const key = await charged(store, 0);
  await sender.check();
  expect(entriesIn(hook.posts[1]?.body ?? "").map(({ key_id }) => key_id)).toEqual([key.id]);
  await store.close();
});

testEachStore("a start in the future begins with what is written next", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = await charged(store, 3);
  const { sender } = senderOf(store, clock, () => ({ url: hook.url, sinceMs: clock.wallMs() + msPerDay }));
  await sender.check();
  await store.charge([settleItem(key.id, 1)]);
  await sender.check();
  expect(idsIn(hook)).toEqual([[5]]);
  await store.close();
});

testEachStore("entries that wait for 15 minutes while nothing is accepted are an alert", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = await charged(store, 1, () => clock.wallMs());
  const { sender } = senderOf(store, clock, () => hook);
  await sender.check();
  hook.answer = failing(503);
  clock.advance(msPerDay);
  const chargedAtMs = clock.wallMs();
  await store.charge([settleItem(key.id, 1, { atMs: chargedAtMs })]);
  await sender.check();
  expect(sender.problem(chargedAtMs + 15 * msPerMinute - 1)).toBeNull();
  expect(sender.problem(chargedAtMs + 15 * msPerMinute)).toEqual({
    kind: "feed_behind",
    sinceMs: chargedAtMs,
    throughId: 2,
    problem: "returned 503",
  });
  await store.close();
});

testEachStore("of two gateways one sends, and what was sent late undoes nothing", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = await charged(store, 3);
  let leader = "a";
  const gateway = (name: string) =>
    senderOf(store, clock, () => hook, { lead: async () => leader === name }).sender;
  const [one, other] = [gateway("a"), gateway("b")];
  const suspended = Promise.withResolvers<Response>();
  const arrived = Promise.withResolvers<void>();
  hook.answer = () => {
    arrived.resolve();
    return suspended.promise;
  };
  const sending = one.check();
  await arrived.promise;
  await other.check();
  expect(hook.posts).toHaveLength(1);
  // The first is suspended for so long that the other one takes over.
  leader = "b";
  hook.answer = () => new Response("ok");
  clock.advance(60_000);
  await other.check();
  await store.charge([settleItem(key.id, 1)]);
  await other.check();
  suspended.resolve(new Response("no", { status: 400 }));
  await sending;
  expect(idsIn(hook).map((ids) => ids.at(-1))).toEqual([4, 4, 5]);
  expect(hook.posts[0]?.body).toBe(hook.posts[1]?.body ?? "");
  expect(await store.feed.push.state()).toMatchObject({ throughId: 5, stoppedAtMs: null });
  await store.close();
});

testEachStore(
  "a sender that is killed at any step repeats a post at most, and skips none",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    await charged(store, 2_999);
    let step = 0;
    let killedAt = 0;
    /** Ends the sender before or after a step, as a crash does. */
    const dying = new Proxy(store.feed.push, {
      get: (push, name) => {
        const work = Reflect.get(push, name) as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          if (++step === killedAt) throw new Error("killed before the step");
          const result = await work(...given);
          if (++step === killedAt) throw new Error("killed after the step");
          return result;
        };
      },
    });
    const killed = { ...store, feed: { ...store.feed, push: dying } };
    let kills = 0;
    while ((await store.feed.push.state())?.throughId !== 3_000) {
      step = 0;
      killedAt = 1 + (kills % 14);
      kills += 1;
      // Every third receiver dies after it has stored the post, before it responds.
      hook.answer = () => (kills % 3 === 0 ? new Response("", { status: 502 }) : new Response("ok"));
      await senderOf(killed, clock, () => hook).sender.check();
      clock.advance(msPerDay);
    }
    expect(kills).toBeGreaterThan(20);
    const accepted = new Map<string | null, string>();
    for (const { body, headers } of hook.posts) {
      const known = accepted.get(headers.get("idempotency-key"));
      expect(known ?? body).toBe(body);
      accepted.set(headers.get("idempotency-key"), body);
    }
    const ids = [...accepted.values()].flatMap(entriesIn).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 3_000 }, (_, index) => index + 1));
    await store.close();
  },
);
