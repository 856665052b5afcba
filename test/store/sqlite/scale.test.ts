import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { KeyRing } from "../../../src/keys/keyring.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { openStore } from "../../../src/store/open.ts";
import { fillStore } from "../../bench/fill.ts";
import { holdFor } from "../../ledger/fixtures.ts";
import { isSoak } from "../../support/effort.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { temporaryFolder } from "../fixtures.ts";

const size = isSoak ? { keys: 10_000, records: 1_000_000 } : { keys: 300, records: 20_000 };

async function start(dir: string) {
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  const snapshot = await store.load();
  const ledger = await Ledger.open({ store, clock: systemClock, snapshot });
  return { store, snapshot, ledger };
}

/** Everything that grows with the number of requests. */
function deleteHistory(dir: string): void {
  using database = new Database(join(dir, "sluice.db"));
  database.run("PRAGMA foreign_keys = off");
  database.run("DROP TRIGGER entries_are_never_deleted");
  const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  for (const { name } of tables.all()) {
    if (/^(entries|attempt_sums)/.test(name)) database.run(`DELETE FROM ${name}`);
  }
}

test(
  `neither a start nor a request reads the history of ${size.records} requests of ${size.keys} keys`,
  async () => {
    using folder = temporaryFolder();
    const { credit } = await fillStore(folder.dir, size);
    const before = await start(folder.dir);
    expect(new KeyRing(systemClock, before.snapshot.keys).find(credit.secret)?.id).toBe(credit.key.id);
    const summary = before.ledger.summary(credit.key.id);
    expect(summary.requests).toBeGreaterThan(0);
    expect((await audit(before.store)).differences).toEqual([]);
    const days = await summarizeUsage(before.store, { by: "day", sinceMs: 0 });
    expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(size.records);
    await before.store.close();

    deleteHistory(folder.dir);
    const after = await start(folder.dir);
    expect(after.snapshot).toEqual(before.snapshot);
    expect(after.ledger.summary(credit.key.id)).toEqual(summary);
    expect(after.ledger.release(holdFor(after.ledger, credit.key, 1))).toBe(true);
    await after.store.close();
  },
  { timeout: 600_000 },
);
