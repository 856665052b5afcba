import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { OperationContext } from "../../../src/admin/context.ts";
import { auditLedger } from "../../../src/admin/reports/audit-ledger.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { type Anchor, anchorText } from "../../../src/base/money/anchor.ts";
import { entryHash } from "../../../src/base/money/chain.ts";
import { cursorOf, entryText } from "../../../src/feed/entry-document.ts";
import { AnchorKeeper, anchorAll } from "../../../src/ledger/anchors.ts";
import { audit } from "../../../src/ledger/audit.ts";
import type { KeyRecord } from "../../../src/store/store.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";
import { clientOf } from "../postgres/fixtures.ts";
import { postgres } from "../postgres/kind.ts";
import { sqlite } from "../sqlite/kind.ts";

const nowMs = Date.UTC(2026, 10, 16, 13, 30);

/** A store, and a connection that changes its database by hand. */
interface Ledger extends AsyncDisposable {
  readonly store: GatewayStore;
  readonly key: KeyRecord;
  run(statement: string): Promise<void>;
}

async function sqliteLedger(): Promise<Ledger> {
  const database = await sqlite.create();
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const intruder = new Database(join(database.dir, "sluice.db"));
  for (const trigger of ["entries_are_never_changed", "entries_are_never_deleted"]) {
    intruder.run(`DROP TRIGGER ${trigger}`);
  }
  return {
    store,
    key,
    run: async (statement) => void intruder.run(statement),
    async [Symbol.asyncDispose]() {
      intruder.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function postgresLedger(): Promise<Ledger> {
  const database = await postgres.create();
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const client = clientOf(database.url, { max: 1 });
  await client.query("DROP TRIGGER entries_are_only_added ON entries");
  return {
    store,
    key,
    run: async (statement) => void (await client.script(statement)),
    async [Symbol.asyncDispose]() {
      await client.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

const kinds = [
  { name: "SQLite", open: sqliteLedger },
  ...(hasPostgres ? [{ name: "PostgreSQL", open: postgresLedger }] : []),
];

async function charge({ store, key }: Ledger, cost: number): Promise<void> {
  await store.charge([settleItem(key.id, cost, { atMs: nowMs })]);
}

async function anchored({ store }: Ledger, acceptsUnchained = false): Promise<Anchor> {
  const anchor = await anchorAll({ store, clock: systemClock }, acceptsUnchained);
  if (anchor === null) throw new Error("the ledger has entries");
  return anchor;
}

async function foundBy({ store }: Ledger, kept?: string): Promise<string[]> {
  // The audit uses nothing else of the context.
  const context = { store, clock: systemClock } as OperationContext;
  const { differences } = await auditLedger(context, {}, kept);
  return differences.filter(({ field }) => field === "hash").map(({ where }) => where);
}

/** Changes the first top-up and computes all hashes of the ledger and its anchors again, as an intruder who knows how. */
async function rewrite(ledger: Ledger): Promise<void> {
  const { store, run } = ledger;
  await run("UPDATE entries SET note = 'another' WHERE id = 1");
  let previous: string | null = null;
  for (const entry of await store.listEntries({ afterId: 0, limit: 100 })) {
    previous = entryHash(previous, entry, entry.chained);
    await run(`UPDATE entries SET hash = '${previous}' WHERE id = ${entry.id}`);
  }
  await run(`UPDATE accounts SET chain_hash = '${previous}'`);
  await run("DELETE FROM anchors");
  await anchored(ledger);
}

for (const { name, open } of kinds) {
  describe(`the chain on ${name}`, () => {
    test("is anchored once for the same entries, and again for new ones", async () => {
      await using ledger = await open();
      await charge(ledger, 5);
      const first = await anchored(ledger);
      expect(first).toMatchObject({ no: 1, entries: 2, unchained: 0 });
      expect(await anchored(ledger)).toEqual(first);
      await charge(ledger, 6);
      expect(await anchored(ledger)).toMatchObject({ no: 2, entries: 3 });
      expect((await audit(ledger.store)).differences).toEqual([]);
    });

    test("is anchored by a gateway once a day", async () => {
      await using ledger = await open();
      let atMs = Date.UTC(2026, 10, 16, 13);
      const { store } = ledger;
      const onError = (error: unknown) => {
        throw error;
      };
      const keeper = new AnchorKeeper({ store, clock: { ...systemClock, wallMs: () => atMs }, onError });
      const checked = async () => {
        await keeper.check();
        return (await store.chain.newest())?.no ?? null;
      };
      expect(await checked()).toBe(1);
      await charge(ledger, 5);
      expect(await checked()).toBe(1);
      atMs = Date.UTC(2026, 10, 17, 0, 1);
      expect(await checked()).toBe(2);
    });

    test("shows each thing that was kept whether the history before it was written anew", async () => {
      await using ledger = await open();
      await charge(ledger, 5);
      const anchor = anchorText(await anchored(ledger));
      await charge(ledger, 6);
      const last = (await ledger.store.feed.entries(0, 10)).at(-1);
      if (last === undefined) throw new Error("there are entries");
      const kept = [anchor, cursorOf(last), entryText(last) ?? ""];
      for (const each of kept) expect(await foundBy(ledger, each)).toEqual([]);
      await rewrite(ledger);
      expect(await foundBy(ledger)).toEqual([]);
      for (const each of kept) expect(await foundBy(ledger, each)).toHaveLength(1);
    });

    test("reports an anchor that was removed, and one of another ledger", async () => {
      await using ledger = await open();
      const anchor = anchorText(await anchored(ledger));
      await ledger.run("DELETE FROM anchors");
      expect(await foundBy(ledger, anchor)).toEqual(["anchor 1"]);
      expect(await foundBy(ledger, `7.${"x".repeat(16)}`)).toEqual(["entry 7"]);
    });

    test("joins entries from before it by their anchor, and finds what was changed in them", async () => {
      await using ledger = await open();
      await charge(ledger, 5);
      await ledger.run("UPDATE entries SET hash = NULL");
      await ledger.run("UPDATE accounts SET chain_hash = NULL");
      expect(await anchored(ledger)).toMatchObject({ entries: 2, unchained: 2 });
      await charge(ledger, 6);
      expect(await foundBy(ledger)).toEqual([]);
      await ledger.run("UPDATE entries SET basis = 'estimated' WHERE id = 2");
      expect(await foundBy(ledger)).toEqual(["anchor 1"]);
    });

    test("is anchored by a gateway with what an older release wrote that stopped before the first anchor", async () => {
      await using ledger = await open();
      await charge(ledger, 5);
      await ledger.run("UPDATE entries SET hash = NULL WHERE id = 2");
      await ledger.run("UPDATE accounts SET chain_hash = (SELECT hash FROM entries WHERE id = 1)");
      const { store } = ledger;
      const onError = (error: unknown) => {
        throw error;
      };
      const keeper = new AnchorKeeper({ store, clock: systemClock, onError });
      await keeper.check();
      expect(await store.chain.newest()).toMatchObject({ no: 1, entries: 2, unchained: 1 });
      expect(await foundBy(ledger)).toEqual([]);
      await charge(ledger, 6);
      await ledger.run("UPDATE entries SET hash = NULL WHERE id = 3");
      const tomorrow = { ...systemClock, wallMs: () => systemClock.wallMs() + 86_400_000 };
      await expect(new AnchorKeeper({ store, clock: tomorrow, onError }).check()).rejects.toThrow(
        "Entry 3 has no hash",
      );
    });

    test("takes no entry without a hash after others, unless an operator accepts it", async () => {
      await using ledger = await open();
      await charge(ledger, 5);
      await charge(ledger, 6);
      await ledger.run("UPDATE entries SET hash = NULL WHERE id = 3");
      await ledger.run("UPDATE accounts SET chain_hash = (SELECT hash FROM entries WHERE id = 2)");
      expect(await foundBy(ledger)).toEqual(["entry 3"]);
      await expect(anchored(ledger)).rejects.toThrow("Entry 3 has no hash");
      await anchored(ledger, true);
      await charge(ledger, 7);
      expect(await foundBy(ledger)).toEqual([]);
    });
  });
}
