import { expect, test } from "bun:test";
import { join } from "node:path";
import { readFeed } from "../../src/admin/feed/feed.ts";
import { FeedSender } from "../../src/feed/sender.ts";
import { maintainFolder, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { keyRecord, settleItem, temporaryFolder } from "../store/fixtures.ts";
import { runIn } from "../store/postgres/fixtures.ts";
import { postgres } from "../store/postgres/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { HookServer } from "../support/hook.ts";
import { hasPostgres } from "../support/postgres.ts";

const clock = new FakeClock();

function senderOf(store: Store, { url }: HookServer): FeedSender {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const settings = () => ({ feed: { url, secret: "canary", sinceMs: null } });
  return new FeedSender({ store, clock, log, settings, lead: async () => true });
}

const bodiesIn = ({ posts }: HookServer) => posts.map(({ body }) => JSON.parse(body));

for (const how of ["with the gateway stopped", "that a gateway applies"]) {
  test(`after a restore ${how}, readers and the receiver hear from which cursor on entries were undone`, async () => {
    using folder = temporaryFolder();
    using hook = new HookServer();
    const { dir } = folder;
    const copy = join(dir, "copy.db");
    const before = await openStore({ dir, clock, role: "gateway" });
    const key = keyRecord();
    await before.insertKey(key, 10_000);
    await before.commit([settleItem(key.id, 1)]);
    hook.answer = () => new Response("no", { status: 503 });
    await senderOf(before, hook).check();
    hook.answer = () => new Response("ok");
    await before.files?.backup(copy);
    await before.commit([settleItem(key.id, 2), settleItem(key.id, 3)]);
    clock.advance(1_000);
    await senderOf(before, hook).check();
    const { data, restored } = await readFeed({ store: before, clock }, { limit: 100 });
    expect([data.length, restored]).toEqual([4, undefined]);
    await before.close();
    const nowMs = clock.wallMs();
    const maintenance = await maintainFolder(dir);
    if (how === "with the gateway stopped") await maintenance.restore(copy, nowMs);
    else {
      await maintenance.stageRestore(copy, nowMs);
      await maintenance.applyStagedRestore();
    }

    const after = await openStore({ dir, clock, role: "gateway" });
    const undone = [{ at: new Date(nowMs).toISOString(), after: data[1]?.cursor }];
    expect(await readFeed({ store: after, clock }, { limit: 100 })).toMatchObject({
      data: data.slice(0, 2),
      restored: undone,
    });
    const sent = hook.posts.length;
    const sender = senderOf(after, hook);
    await sender.check();
    await after.commit([settleItem(key.id, 4)]);
    await sender.check();
    expect(
      bodiesIn(hook)
        .slice(sent)
        .map((post) => [post.restored, post.data.length]),
    ).toEqual([
      [undone, 2],
      [undefined, 1],
    ]);
    await after.close();
  });
}

test.skipIf(!hasPostgres)("a post says what was undone until one is accepted (PostgreSQL)", async () => {
  await using database = await postgres.create();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 10_000);
  const { location } = database;
  if (!("url" in location)) throw new Error("a database");
  await runIn(location, "INSERT INTO ledger_restores (at_ms, through_id) VALUES (1000, 0)");
  const undone = [{ at: "1970-01-01T00:00:01.000Z", after: null }];
  expect((await readFeed({ store, clock }, { limit: 1 })).restored).toEqual(undone);
  hook.answer = () => new Response("no", { status: 503 });
  const sender = senderOf(store, hook);
  await sender.check();
  hook.answer = () => new Response("ok");
  clock.advance(60_000);
  await sender.check();
  await store.charge([settleItem(key.id, 4)]);
  await sender.check();
  expect(bodiesIn(hook).map(({ restored }) => restored)).toEqual([undone, undone, undefined]);
  await store.close();
});
