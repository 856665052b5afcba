import { expect, test } from "bun:test";
import { join } from "node:path";
import { readFeed, verifyFeed } from "../../src/admin/feed/feed.ts";
import type { FeedEntryView } from "../../src/admin/feed/schema.ts";
import { AdminError } from "../../src/admin/formats/admin-error.ts";
import { iso } from "../../src/admin/moments.ts";
import { msPerDay, systemClock } from "../../src/base/clock.ts";
import { exactCredits, nanoFromExact } from "../../src/base/money/money.ts";
import { makeRates } from "../../src/base/money/rates.ts";
import { cursorOf } from "../../src/feed/entry-document.ts";
import { copyAll, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { startAdmin } from "../admin/routes/fixtures.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord, settleItem, temporaryFolder } from "../store/fixtures.ts";
import { bookCharges } from "../store/postgres/charge.ts";
import { clientOf } from "../store/postgres/fixtures.ts";
import { postgres } from "../store/postgres/kind.ts";
import { sqlite } from "../store/sqlite/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres } from "../support/postgres.ts";

const clock = new FakeClock();

/** Follows the feed to its end. */
async function follow(store: Store, after?: string, limit = 100): Promise<FeedEntryView[]> {
  const all: FeedEntryView[] = [];
  for (let cursor = after; ; ) {
    const { data, next_cursor } = await readFeed(
      { store, clock },
      { limit, ...(cursor && { after: cursor }) },
    );
    all.push(...data);
    if (data.length < limit) return all;
    cursor = next_cursor ?? undefined;
  }
}

async function rejection(work: Promise<unknown>): Promise<AdminError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AdminError);
  return error as AdminError;
}

testEachStore("an entry says who spent what on which model, with exact amounts", async (database) => {
  const store = await database.openGateway(clock);
  const key = keyRecord({ label: "chat" });
  const tokens = keyRecord({ mode: "token_budget", budgetTokens: 5_000, period: "month" });
  await store.insertKey(key, 3_999_999_123_456_789);
  await store.insertKey(tokens, 0);
  const rates = makeRates({
    microUsdPerCredit: 1_000_000,
    picoUsd: { input: 5_000_000, output: 30_000_000 },
    tiers: [],
    inputAbove: null,
  });
  const labels = {
    owner: "ada@example.com",
    user: "u-7",
    "tag:project": "atlas",
    fallback_from: "house-large",
  };
  const charge = { rates, quantities: { input: 120, output: 40 } };
  await store.charge([
    settleItem(key.id, 1_800_000, { ...charge, requestedModel: "large", labels: JSON.stringify(labels) }),
    settleItem(key.id, 1_800_000, { ...charge, labels: JSON.stringify({ fallback_from: "house-large" }) }),
    settleItem(tokens.id, 160, { ...charge, periodStartMs: Date.UTC(2026, 10), listCostNano: 1_800_000 }),
  ]);
  const [topUp, first, second, counted] = await follow(store);
  expect(topUp).toMatchObject({
    ...{ kind: "topup", amount: "3999999.123456789", unit: "credits", credits: "3999999.123456789" },
    ...{
      key_id: key.id,
      key_label: "chat",
      owner: null,
      tags: {},
      model: null,
      quantities: null,
      rates: null,
    },
  });
  expect(first).toMatchObject({
    ...{ kind: "charge", amount: "-0.0018", credits: "-0.0018", account_id: key.accountId, key_id: key.id },
    ...{ owner: "ada@example.com", user: "u-7", tags: { project: "atlas" } },
    ...{ model: "house-model", requested_model: "large", provider: "openai", outcome: "completed" },
    ...{ quantities: { input: 120, output: 40 }, rates: { input: 5, output: 30, usd_per_credit: 1 } },
  });
  expect(second).toMatchObject({ model: "house-model", requested_model: "house-large", owner: null });
  expect(counted).toMatchObject({
    ...{ amount: "-160", unit: "tokens", credits: null, list_cost: "0.0018" },
    period_start: "2026-11-01T00:00:00.000Z",
  });
  expect(await follow(store, first?.cursor)).toEqual([second, counted] as FeedEntryView[]);
  expect(await readFeed({ store, clock }, { after: counted?.cursor ?? "", limit: 5 })).toEqual({
    data: [],
    next_cursor: counted?.cursor ?? null,
    anchor: null,
  });
  await store.close();
});

testEachStore("the number and the sum that a reader has are compared with the ledger", async (database) => {
  const store = await database.openGateway(clock);
  // Together they are more than a double has digits for.
  const keys = Array.from({ length: 5 }, () => keyRecord());
  for (const key of keys) await store.insertKey(key, 3_999_999_999_999_999);
  await store.charge([settleItem(keys[0]?.id ?? "", 7)]);
  const entries = await follow(store);
  const total = exactCredits(
    entries.reduce((sum, { credits }) => sum + (nanoFromExact(credits ?? "0") ?? 0n), 0n),
  );
  expect(total).toBe("19999999.999999988");
  const [first, last] = [entries[0]?.cursor ?? "", entries.at(-1)?.cursor ?? ""];
  const verify = (query: { through: string; count: number; total: string; after?: string }) =>
    verifyFeed({ store, clock }, query);
  expect(await verify({ through: last, count: 6, total })).toMatchObject({ ok: true });
  expect(await verify({ through: last, count: 6, total: "19999999.999999989" })).toEqual({
    ok: false,
    given: { count: 6, total: "19999999.999999989" },
    ledger: { count: 6, total },
  });
  expect(await verify({ through: last, count: 5, total })).toMatchObject({ ok: false });
  expect(await verify({ through: last, after: first, count: 5, total: "16000000.98" })).toMatchObject({
    ok: false,
    ledger: { count: 5, total: "15999999.999999989" },
  });
  await store.close();
});

testEachStore("an empty ledger has an empty feed and no cursor", async (database) => {
  const store = await database.openGateway(clock);
  expect(await readFeed({ store, clock }, { limit: 10 })).toEqual({
    data: [],
    next_cursor: null,
    anchor: null,
  });
  await store.close();
});

test("a cursor is valid where its entry is, and nowhere else", async () => {
  await using database = await sqlite.create();
  using folder = temporaryFolder();
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 1_000_000);
  await store.charge([settleItem(key.id, 1), settleItem(key.id, 2)]);
  await store.close();
  const restored = { dir: join(folder.dir, "restored") };
  const from = { dir: database.dir };
  await copyAll({
    from,
    to: restored,
    clock: systemClock,
    keepsSource: true,
    nodeFolders: [],
    onProgress() {},
  });
  const [one, other] = [
    await database.openGateway(clock),
    await openStore({ ...restored, clock, role: "gateway" }),
  ];
  await one.charge([settleItem(key.id, 3)]);
  await other.commit([settleItem(key.id, 3)]);
  const entries = await follow(one);
  expect((await follow(other)).map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
  const [, second, third, fourth] = entries.map(({ cursor }) => cursor);
  expect((await follow(other, third)).map(({ id }) => id)).toEqual([4]);
  const lost = [fourth ?? "", "9.AAAAAAAAAAAAAAAA", (second ?? "").replace("2.", "3.")];
  for (const after of lost) {
    const error = await rejection(readFeed({ store: other, clock }, { after, limit: 1 }));
    expect(error).toMatchObject({ status: 400, code: "invalid_request", param: "after" });
    expect(error.message).toContain("Use the cursor of an earlier entry.");
  }
  const through = await rejection(
    verifyFeed({ store: other, clock }, { through: lost[0] ?? "", count: 4, total: "0" }),
  );
  expect(through).toMatchObject({ status: 400, code: "invalid_request", param: "through" });
  await one.close();
  await other.close();
});

testEachStore("a cursor from an older release beside this one is valid", async (database) => {
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.charge([settleItem(key.id, 5)]);
  const [first] = await store.feed.entries(0, 1);
  if (first === undefined) throw new Error("the top-up is an entry");
  // It knows nothing of the entry's hash.
  const older = cursorOf({ ...first, hash: null });
  expect(older).not.toBe(cursorOf(first));
  const [next, ...others] = await follow(store, older);
  expect([next?.kind, others]).toEqual(["charge", []]);
  const forged = `${older.slice(0, -1)}${older.endsWith("A") ? "B" : "A"}`;
  expect((await rejection(follow(store, forged))).status).toBe(400);
});

test("nonsense is 400, with the parameter and what to write", async () => {
  await using admin = await startAdmin();
  await admin.post("/keys", { mode: "credit", credit: 5 });
  const verify = "/ledger/feed/verify?through=1.AAAAAAAAAAAAAAAA&count=1";
  for (const [path, param] of [
    ["/ledger/feed?after=yesterday", "after"],
    ["/ledger/feed?after=1.AAAAAAAAAAAAAAAA", "after"],
    [`/ledger/feed?after=1.${"A".repeat(5_000)}`, "after"],
    ["/ledger/feed?limit=0", "limit"],
    ["/ledger/feed?limit=1001", "limit"],
    ["/ledger/feed?limit=ten", "limit"],
    [`${verify}&total=5.0000000001`, "total"],
    [`${verify}&total=1e3`, "total"],
    [verify, "total"],
    [`${verify}&total=5`, "through"],
    [verify.replace("count=1", "count=-1&total=5"), "count"],
  ] as const) {
    const response = await admin.call(path);
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    expect([response.status, error.code, error.param], path).toEqual([400, "invalid_request", param]);
  }
});

test.skipIf(!hasPostgres)(
  "a reader gets every entry once, in order, while many write",
  async () => {
    await using database = await postgres.create();
    const store = await database.openGateway(systemClock);
    const keys = Array.from({ length: 6 }, () => keyRecord());
    for (const key of keys) await store.insertKey(key, 1_000_000);
    const client = clientOf(database.url, { max: 8 });
    let isOver = false;
    const read: number[] = [];
    const reading = (async () => {
      for (let after: string | undefined; ; ) {
        const isLast = isOver;
        const { data, next_cursor } = await readFeed(
          { store, clock },
          { limit: 20, ...(after && { after }) },
        );
        read.push(...data.map(({ id }) => id));
        after = next_cursor ?? undefined;
        if (isLast && data.length < 20) return;
      }
    })();
    await Promise.all(
      keys.map(async ({ id }, writer) => {
        for (let batch = 0; batch < 25; batch += 1) {
          // Its ids are assigned at once, and are visible only when it commits, some time later.
          await client.transaction(async (query) => {
            const nested = {
              query,
              transaction: (work: (inner: typeof query) => Promise<void>) => work(query),
            };
            await bookCharges(nested as never, [settleItem(id, 1), settleItem(id, 1)]);
            await Bun.sleep((writer * 7 + batch) % 12);
          });
        }
      }),
    );
    isOver = true;
    await reading;
    const { count } = await store.feed.totals({ afterId: 0, throughId: Number.MAX_SAFE_INTEGER });
    expect(count).toBe(keys.length * (1 + 25 * 2));
    expect(read).toEqual([...new Set(read)].toSorted((a, b) => a - b));
    expect(read).toHaveLength(count);
    await client.close();
    await store.close();
  },
  60_000,
);

test.skipIf(!hasPostgres)("a time's place is before an entry that is still being written", async () => {
  await using database = await postgres.create();
  const store = await database.openGateway(systemClock);
  const [slow, fast] = [keyRecord(), keyRecord()];
  await store.insertKey(slow, 1_000);
  await store.insertKey(fast, 1_000);
  const client = clientOf(database.url);
  const written = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const late = settleItem(slow.id, 7);
  const writing = client.transaction(async (query) => {
    // Rates are written apart: the second charge has the same, and would wait for them.
    const nested = {
      query: client.query,
      transaction: (work: (inner: typeof query) => Promise<void>) => work(query),
    };
    await bookCharges(nested as never, [late]);
    written.resolve();
    await commit.promise;
  });
  await written.promise;
  await store.charge([settleItem(fast.id, 5)]);
  const place = store.feed.placeBefore(late.charge.atMs);
  commit.resolve();
  await writing;
  // The two top-ups come first.
  expect(await place).toBe(2);
  expect((await store.feed.entries(2, 10)).map(({ amount }) => amount)).toEqual([-7, -5]);
  await client.close();
  await store.close();
});

testEachStore("the feed begins at a time, and is verified from there", async (database) => {
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 1_000_000_000);
  const later = (days: number) => clock.wallMs() + days * msPerDay;
  for (const day of [1, 2, 3]) await store.charge([settleItem(key.id, 1_000_000, { atMs: later(day) })]);
  const since = iso(later(2));
  const { data, next_cursor } = await readFeed({ store, clock }, { since, limit: 100 });
  expect(data.map(({ at }) => at)).toEqual([iso(later(2)), iso(later(3))]);
  expect(await readFeed({ store, clock }, { since: iso(later(4)), limit: 100 })).toEqual({
    ...{ data: [], next_cursor: null, anchor: null },
  });
  const verified = { since, through: next_cursor ?? "", count: 2, total: "-0.002" };
  expect(await verifyFeed({ store, clock }, verified)).toMatchObject({ ok: true });
  const both = { since, after: next_cursor ?? "", limit: 1 };
  expect((await rejection(readFeed({ store, clock }, both))).message).toContain("not both");
});
