import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { type CopyRequest, copyAll, movedTo, openStore, reopenStore } from "../../src/store/open.ts";
import type { StoreLocation } from "../../src/store/settings.ts";
import { type Store, StoreError } from "../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { summarizeUsage, usageRecords } from "../support/usage.ts";
import { attempt } from "./attempts.ts";
import { keyRecord, outcomeRecordOf, type SettleItem, settleItem, temporaryFolder } from "./fixtures.ts";
import type { GatewayStore } from "./kind.ts";
import { emptyDatabase, leaveCharges, migratedDatabase, runIn } from "./postgres/fixtures.ts";
import { postgres } from "./postgres/kind.ts";
import { responseOf, responsePart } from "./responses.ts";
import { sqlite } from "./sqlite/kind.ts";

const atMs = Date.UTC(2026, 10, 15, 12);
const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => index % 256);

/** Something of everything. */
async function fill(store: GatewayStore): Promise<void> {
  const credit = keyRecord({ label: "naïve — 例", models: ["a", "b"], rpmLimit: 60, expiresAtMs: 9e12 });
  const tokens = keyRecord({ mode: "token_budget", budgetTokens: 5_000, period: "month" });
  await store.insertKey(credit, 4e15);
  await store.insertKey(tokens, 0);
  await store.updateKey(tokens.id, { status: "disabled", previousHash: "old", previousUntilMs: 5 });
  const topUp = { keyId: credit.id, amountNano: -7, reference: "order 1", note: 'a, "b"\n', atMs };
  await store.recordAdjustment(topUp);
  await store.charge(Array.from({ length: 1_200 }, (_, index) => settleItem(credit.id, index + 1)));
  const response = responseOf(credit.id, { body: bytes(70_000), recording: { id: "rec_1", parts: 1 } });
  await store.recordResponsePart(responsePart("rec_1", 0, "one "));
  await store.recordResponsePart(responsePart("rec_2", 0, "two "));
  await store.recordTurn({
    keyId: credit.id,
    id: "conv_1",
    parentId: null,
    model: "",
    provider: "",
    createdAtMs: atMs,
    expiresAtMs: atMs + 1,
    bytes: 7,
    items: [],
    body: bytes(7),
    request: bytes(300),
    recording: { id: "rec_2", parts: 1 },
    keyBytes: 1_000,
  });
  const failed = outcomeRecordOf(credit.id, {
    outcome: "failed",
    status: 502,
    message: "broke \0 off",
    attemptDetails: [
      { provider: "p", upstreamModel: "m", status: 502, error: "no", message: null, totalMs: 4 } as never,
    ],
  });
  await store.charge([
    { ...settleItem(credit.id, 9, { overrun: 3 }), response, outcomeRecord: { ...failed, atMs } },
    { ...settleItem(credit.id, 5, { outcome: "cancelled" }), record: null },
    ofBudget(settleItem(tokens.id, 40, { periodStartMs: Date.UTC(2026, 10), listCostNano: 40 })),
  ]);
  await store.recordOutcomes([outcomeRecordOf(tokens.id, { alike: 4 })], [{ ...attempt(), day: 20_000 }]);
  await store.recordIssuedIds({
    keyId: credit.id,
    provider: "openai",
    credential: "c1",
    idKeys: ["d1", "d2"],
    tokens: 9,
    atMs,
  });
  await store.admin.saveAdminToken({ hash: "ab12", isTrial: true });
  await store.admin.addTrialKey("key_tried");
  await store.admin.appendAudit({
    atMs,
    actor: "cli",
    address: "ada",
    action: "x",
    target: null,
    detail: "y",
  });
}

/** Which are not charged in money. */
function ofBudget(item: SettleItem): SettleItem {
  return { ...item, record: item.record && { ...item.record, costNano: 0 } };
}

/** Everything that a store answers, but for what is only there while a gateway runs. */
async function contents(store: Store): Promise<object> {
  const { keys, accounts, openHolds, revision } = await store.load();
  const [first] = keys;
  const conversation = await store.turns.find(first?.id ?? "", "conv_1", atMs);
  const scope = { keyId: first?.id ?? "", route: "/v1/messages", idempotencyKey: "once" };
  const usageBy = (by: "day" | "hour" | "model" | "key") => summarizeUsage(store, { by, sinceMs: 0 });
  const range = { sinceMs: 0, untilMs: atMs * 2, stepMs: 86_400_000 } as const;
  return {
    keys,
    accounts,
    openHolds,
    revision,
    entries: await store.listEntries({ afterId: 0, limit: 5_000 }),
    usage: await usageRecords(store),
    sums: [await usageBy("day"), await usageBy("hour"), await usageBy("model"), await usageBy("key")],
    latencies: await store.reports.latencyInSteps(range),
    exchanges: await store.reports.exchanges({ limit: 5_000 }),
    response: await store.findStoredResponse(scope, 0),
    conversation: { ...conversation, request: conversation?.request?.toHex() },
    turns: await store.turns.sums(first?.id ?? "", atMs),
    attempts: await store.reports.attemptSums("openai", 0, 30_000),
    given: await store.findIssuedIds(first?.id ?? "", ["d1", "d2", "d3"]),
    audit: await store.admin.listAudit({ limit: 10 }),
    token: await store.admin.readAdminToken(),
    trialKeys: await store.admin.listTrialKeys(),
    books: await audit(store),
  };
}

async function contentsAt(location: StoreLocation): Promise<object> {
  const clock = systemClock;
  const store =
    "url" in location
      ? await openStore({ location, clock, role: "operator" })
      : await openStore({ ...location, clock, role: "operator" });
  try {
    return await contents(store);
  } finally {
    await store.close();
  }
}

function copy(from: StoreLocation, to: StoreLocation, changes: Partial<CopyRequest> = {}) {
  const request = { from, to, clock: systemClock, keepsSource: true, nodeFolders: [], onProgress: () => {} };
  return copyAll({ ...request, ...changes });
}

async function reasonOf(refused: Promise<unknown>): Promise<string> {
  const outcome = await refused.catch((error: unknown) => error);
  return outcome instanceof StoreError ? outcome.reason : `not refused: ${String(outcome)}`;
}

const at = (url: string) => ({ url, password: null, prepare: true });

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a copy", () => {
    test("into a database and back is the same store, and goes on from there", async () => {
      await using source = await sqlite.create();
      const gateway = await source.openGateway(systemClock);
      await fill(gateway);
      await gateway.close();
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const back = { dir: join(folder.dir, "back") };
      const first = await contentsAt({ dir: source.dir });
      expect(first).toMatchObject({
        conversation: { id: "conv_1", request: bytes(300).toHex() },
        turns: { conversations: 1 },
      });

      const counts = { keys: 2, entries: 1_206, usage: 1_202 };
      expect(await copy({ dir: source.dir }, at(database.url))).toEqual(counts);
      // PostgreSQL has no NUL in texts.
      const expected = JSON.parse(JSON.stringify(first).replaceAll("\\u0000", "\ufffd"));
      expect(JSON.parse(JSON.stringify(await contentsAt(at(database.url))))).toEqual(expected);
      expect(await copy(at(database.url), back)).toEqual(counts);
      expect(JSON.parse(JSON.stringify(await contentsAt(back)))).toEqual(expected);

      const location = at(database.url);
      const later = await openStore({ location, clock: systemClock, role: "operator" });
      const [key] = (await later.listKeys({ limit: 1 })).keys;
      await later.insertKey(keyRecord(), 5);
      const more = { keyId: key?.id ?? "", amountNano: 1, reference: null, note: null, atMs };
      expect((await later.recordTopUp(more)).entry.id).toBeGreaterThan(counts.entries);
      expect(await reasonOf(later.recordTopUp({ ...more, reference: "order 1" }))).toBe("reference_conflict");
      expect((await audit(later)).differences).toEqual([]);
      await later.close();
    });

    test("leaves its source marked as moved, which refuses everybody until it is reopened", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const places: StoreLocation[] = [
        { dir: source.dir },
        at(database.url),
        { dir: join(folder.dir, "third") },
      ];
      const open = (place: StoreLocation, role: "gateway" | "operator") =>
        "url" in place
          ? openStore({ location: place, clock: systemClock, role })
          : openStore({ ...place, clock: systemClock, role });
      for (const [index, from] of places.slice(0, -1).entries()) {
        const to = places[index + 1] as StoreLocation;
        await copy(from, to, { keepsSource: false });
        const name = "url" in to ? new URL(to.url).pathname.slice(1) : to.dir;
        for (const role of ["gateway", "operator"] as const) {
          const refused = await open(from, role).catch((error: unknown) => error);
          expect(refused).toBeInstanceOf(StoreError);
          expect((refused as StoreError).reason).toBe("moved");
          expect(String(refused)).toContain(name);
          expect(String(refused)).toContain("sluice store reopen --at");
        }
        expect(await reasonOf(copy(from, { dir: join(folder.dir, "fourth") }))).toBe("moved");
        expect((await movedTo(from))?.to).toContain(name);
        expect(await movedTo(to)).toBeNull();
        await reopenStore(from);
        expect(await movedTo(from)).toBeNull();
        await (await open(from, "operator")).close();
      }
    });

    test("that fails leaves its source in use", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      const onProgress = () => {
        throw new Error("the disk is full");
      };
      await using database = await emptyDatabase();
      const failing = copy({ dir: source.dir }, at(database.url), { keepsSource: false, onProgress });
      await expect(failing).rejects.toThrow("the disk is full");
      expect(await movedTo({ dir: source.dir })).toBeNull();
    });

    test("is refused while a gateway's folder has charges that the database never got", async () => {
      await using database = await migratedDatabase();
      using folder = temporaryFolder();
      await leaveCharges(folder.dir, database.url, 2);
      const target = { dir: join(folder.dir, "target") };
      const refused = await copy(at(database.url), target, { nodeFolders: ["/nowhere", folder.dir] }).catch(
        (error: unknown) => error,
      );
      expect((refused as StoreError).reason).toBe("unmade_charges");
      expect(String(refused)).toContain(`${folder.dir} has 2 charges`);
      expect(await copy(at(database.url), target)).toMatchObject({ keys: 0 });
    });

    test("is refused of a folder in which an exchange was charged twice, and leaves nothing behind", async () => {
      await using source = await sqlite.create();
      const filled = await source.openGateway(systemClock);
      const key = keyRecord();
      await filled.insertKey(key, 1_000);
      const once = settleItem(key.id, 20);
      await filled.charge([once, settleItem(key.id, 5)]);
      await filled.charge([{ ...once, record: null }]);
      await filled.close();
      await using database = await emptyDatabase();
      const refused = await copy({ dir: source.dir }, at(database.url), { keepsSource: false }).catch(
        (error: unknown) => error,
      );
      expect((refused as StoreError).reason).toBe("corrupt");
      expect(String(refused)).toContain(`exchange ${once.holdId} was charged 2 times`);
      expect(String(refused)).toContain("sluice ledger audit");
      expect(await movedTo({ dir: source.dir })).toBeNull();
      await using other = await sqlite.create();
      await (await other.openOperator(systemClock)).close();
      expect(await copy({ dir: other.dir }, at(database.url))).toEqual({ keys: 0, entries: 0, usage: 0 });
    });

    test("needs a target without data", async () => {
      await using source = await sqlite.create();
      const filled = await source.openOperator(systemClock);
      await filled.insertKey(keyRecord(), 5);
      await filled.close();
      await using database = await postgres.create();
      const other = await database.openOperator(systemClock);
      await other.insertKey(keyRecord(), 5);
      await other.close();
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("not_empty");
      expect(await reasonOf(copy(at(database.url), { dir: source.dir }))).toBe("not_empty");
    });

    test("is refused while a gateway uses either side, and leaves nothing behind", async () => {
      await using source = await sqlite.create();
      const gateway = await openStore({ dir: source.dir, clock: systemClock, role: "gateway" });
      await gateway.insertKey(keyRecord(), 5);
      await using database = await migratedDatabase();
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("in_use");
      await gateway.close();
      const joined = "INSERT INTO nodes (name, version, lease_until) VALUES ('a', '1', clock_timestamp())";
      await runIn(database, joined);
      expect(await reasonOf(copy({ dir: source.dir }, at(database.url)))).toBe("in_use");
      using folder = temporaryFolder();
      const empty = { dir: join(folder.dir, "empty") };
      expect(await reasonOf(copy(at(database.url), empty))).toBe("in_use");
      await runIn(database, "UPDATE nodes SET left_at = clock_timestamp()");
      expect(await copy({ dir: source.dir }, at(database.url))).toEqual({ keys: 1, entries: 1, usage: 0 });
      await runIn(database, "UPDATE accounts SET purchased = purchased + 1, posted = posted + 1");
      expect(await reasonOf(copy(at(database.url), empty))).toBe("corrupt");
      await runIn(database, "UPDATE accounts SET purchased = purchased - 1, posted = posted - 1");
      expect(await copy(at(database.url), empty)).toEqual({ keys: 1, entries: 1, usage: 0 });
    });
  });
