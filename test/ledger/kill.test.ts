import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { audit } from "../../src/ledger/audit.ts";
import { openStore } from "../../src/store/open.ts";
import type { KeyRecord, NewValueCap, Store } from "../../src/store/store.ts";
import { served } from "../store/attempts.ts";
import { keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../support/postgres.ts";
import { seededRandom } from "../support/random.ts";
import { waitFor } from "../support/wait.ts";
import { cap } from "./accounts-bench.ts";
import { holdFor } from "./fixtures.ts";
import { openAccounts, type RealAccounts } from "./real-accounts.ts";

const cycles = process.env["SLUICE_SOAK"] === "1" ? 100 : 3;
/** Decides on the moments at which processes are killed; named by the tests, so that they can be had again. */
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const script = new URL("./charging-process.ts", import.meta.url).pathname;

/** Lets a process charge for a moment, kills it without warning, and returns what it had acknowledged. */
async function chargeAndKill(
  dir: string,
  keys: readonly KeyRecord[],
  where: string,
  afterMs: number,
): Promise<readonly string[]> {
  const keyIds = keys.map(({ id }) => id).join(",");
  const charging = Bun.spawn({
    cmd: [process.execPath, script, dir, keyIds, where],
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let told = "";
  let isKilled = false;
  for await (const bytes of charging.stdout) {
    told += decoder.decode(bytes, { stream: true });
    if (isKilled) continue;
    isKilled = true;
    setTimeout(() => charging.kill("SIGKILL"), afterMs);
  }
  await charging.exited;
  const lines = told.split("\n");
  // The last line may have been cut off by the kill; it says nothing.
  return lines.slice(0, -1).filter((line) => line !== "");
}

/** Two keys of one account, each with a cap, and one of the account's own. */
async function addCappedKeys(dir: string, where: string, limit: number): Promise<readonly KeyRecord[]> {
  const location = where.includes(":") ? { url: where, password: null, prepare: true } : undefined;
  const at = location === undefined ? { dir } : { location };
  const setup = await openStore({ ...at, clock: systemClock, role: "operator" });
  const first = keyRecord({ caps: [cap(limit, "month")] });
  const keys = [first, keyRecord({ accountId: first.accountId, caps: [cap(limit, "month", "house-*")] })];
  for (const key of keys) await setup.insertKey(key, key === first ? 1_000_000_000 : 0);
  const caps = [cap(limit * 2 - 30, "month")];
  await setup.setCaps({ accountId: first.accountId }, caps, systemClock.wallMs());
  // Three caps by value bind each charge. The one of the project is the tightest of all.
  const byValue = [
    { label: "owner", value: null, limit },
    { label: "user", value: null, limit, isOptional: true, models: "house-*" },
    { label: "tag:project", value: "atlas", limit: limit * 2 - 60 },
  ];
  for (const each of byValue) await setup.insertValueCap({ ...valueCap(), ...each }, systemClock.wallMs());
  await setup.close();
  return keys;
}

function valueCap(): NewValueCap {
  return {
    ...{ id: newId("cap_"), keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
    ...{ limit: 0, period: "month", models: null, isOptional: false, maxValues: 100 },
    ...{ thenModel: null, thenAlways: false },
  };
}

/** Each cap by value has counted every charge, and no value more than its limit. */
async function checkValues(store: Store, charged: number): Promise<void> {
  for (const { no, limit } of await store.valueCaps()) {
    const used = (await store.valueTotals(no)).map((totals) => totals.used);
    expect(Math.max(0, ...used)).toBeLessThanOrEqual(limit);
    expect(used.reduce((sum, each) => sum + each, 0)).toBe(charged);
  }
}

/** How many attempts were counted of each outcome. */
async function attemptsByEnding(store: Store): Promise<Readonly<Record<string, number>>> {
  const byOutcome: Record<string, number> = {};
  for (const { outcome, attempts } of (
    await Array.fromAsync(store.reports.attemptPages(served.provider, 0, 1_000_000))
  ).flat()) {
    byOutcome[outcome] = (byOutcome[outcome] ?? 0) + attempts;
  }
  return byOutcome;
}

/**
 * What was acknowledged is charged, nothing twice; attempts are counted as often as they are charged; no cap has more
 * than its limit, and nothing is held for ever.
 */
async function check({ store, accounts }: RealAccounts, keys: readonly KeyRecord[], acknowledged: string[]) {
  const entries = await store.listEntries({ afterId: 0, limit: 10_000_000 });
  const charges = entries.filter(({ kind }) => kind === "charge");
  const completed = new Set(
    charges.filter(({ outcome }) => outcome === "completed").map(({ exchangeId }) => exchangeId),
  );
  expect(acknowledged.filter((id) => !completed.has(id))).toEqual([]);
  expect(new Set(charges.map(({ exchangeId }) => exchangeId)).size).toBe(charges.length);
  const charged = Object.entries(Object.groupBy(charges, ({ outcome }) => outcome ?? ""));
  expect(await attemptsByEnding(store)).toEqual(
    Object.fromEntries(charged.map(([outcome, of]) => [outcome, of?.length ?? 0])),
  );
  expect((await store.load()).openHolds).toEqual([]);
  expect((await audit(store)).differences).toEqual([]);
  const spent = entries.filter(({ kind }) => kind === "charge" || kind === "overrun");
  await checkValues(
    store,
    spent.reduce((sum, { amount }) => sum - Math.min(0, amount), 0),
  );
  const summaries = await accounts.summaries(keys.map(({ id }) => id));
  const standings = await store.readAccounts(keys.slice(0, 1).map(({ accountId }) => accountId));
  const kept = new Set(standings.flatMap(({ caps }) => caps.map(({ used }) => used)));
  for (const { caps } of summaries) {
    expect(caps).toHaveLength(2);
    for (const { used, held, limit } of caps) {
      expect([used <= (limit ?? 0), kept.has(used), held]).toEqual([true, true, 0]);
    }
  }
  for (const [index, key] of keys.entries()) {
    const left = Math.min(...(summaries[index]?.caps ?? []).map((state) => state.left));
    if (left > 0) accounts.release(await holdFor(accounts, key, left));
  }
}

const places = [
  ["SQLite", async () => "folder"],
  ...(hasPostgres ? [["PostgreSQL", newDatabase] as const] : []),
] as const;

async function newDatabase(): Promise<string> {
  const server = sharedPostgres();
  const url = server.url(await server.createDatabase());
  await (
    await openStore({ location: { url, password: null, prepare: true }, clock: systemClock, role: "gateway" })
  ).close();
  return url;
}

describe.each(places)(`kill -9 under load (%s, SEED=${seed})`, (_name, place) => {
  // With the smaller one the process is killed while everybody races for what is left.
  test.each([100_000_000, 500])(
    "what was acknowledged is charged after it, once, and caps of %d hold",
    async (limit) => {
      using folder = temporaryFolder();
      const where = await place();
      const keys = await addCappedKeys(folder.dir, where, limit);
      const acknowledged: string[] = [];
      const random = seededRandom(seed);
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        const afterMs = limit === 500 ? random.below(20) : 20 + random.below(100);
        acknowledged.push(...(await chargeAndKill(folder.dir, keys, where, afterMs)));
        const real = await openAccounts(folder.dir, where);
        // A node ends its predecessor's holds in the background.
        await waitFor(async () => (await real.store.load()).openHolds.length === 0, "no open hold");
        await check(real, keys, acknowledged);
        await real.close();
      }
      expect(acknowledged.length).toBeGreaterThan(0);
    },
    { timeout: 600_000 },
  );
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
