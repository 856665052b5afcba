import { describe, expect, test } from "bun:test";
import pino from "pino";
import type { Backend } from "../../src/backend/backend.ts";
import { openPostgresBackend } from "../../src/backend/postgres.ts";
import { openSqliteBackend } from "../../src/backend/sqlite.ts";
import { msPerDay, msPerHour } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import type { KeyRecord } from "../../src/store/store.ts";
import { tryHold } from "../ledger/accounts-bench.ts";
import { settlement } from "../ledger/fixtures.ts";
import { keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase, runIn, trustNodeClocks } from "../store/postgres/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres } from "../support/postgres.ts";

interface Place extends AsyncDisposable {
  open(clock: FakeClock): Promise<Backend>;
}

async function sqlitePlace(): Promise<Place> {
  const folder = temporaryFolder();
  return {
    open: (clock) => openSqliteBackend({ dir: folder.dir, clock, log: pino({ level: "silent" }) }),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

async function postgresPlace(): Promise<Place> {
  const folder = temporaryFolder();
  const database = await emptyDatabase();
  const location = { url: database.url, password: null, prepare: true };
  return {
    async open(clock) {
      const log = pino({ level: "silent" });
      const named = { nodeName: "test", version: "1", dir: folder.dir };
      const backend = await openPostgresBackend({ location, ...named, clock, log });
      await runIn(location, trustNodeClocks);
      return backend;
    },
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const places = [
  ["SQLite", sqlitePlace],
  ...(hasPostgres ? ([["PostgreSQL", postgresPlace]] as const) : []),
] as const;

async function spend({ accounts }: Backend, clock: FakeClock, key: KeyRecord, cost: number) {
  const hold = await tryHold(accounts, key, cost);
  if (!(hold instanceof Hold)) return hold;
  return accounts.settle(hold, settlement(hold, cost, {}, { atMs: clock.wallMs() }));
}

async function applyAll({ accounts, store }: Backend): Promise<void> {
  accounts.apply(await store.changesSince(0));
}

async function returnToPresent({ accounts, store }: Backend, clock: FakeClock): Promise<boolean> {
  if (accounts instanceof Ledger) return accounts.returnToPresent();
  return (await store.returnToPresent(clock.wallMs())) !== null;
}

for (const [name, place] of places) {
  describe(`a clock that is wrong for a moment, on ${name}`, () => {
    test.each([
      ["while the gateway runs", false],
      ["at a start", true],
    ])(
      "gives nothing, takes nothing, and leaves no trace: back %s",
      async (_, restarts) => {
        await using where = await place();
        const clock = new FakeClock("2026-11-16T12:00:00Z");
        let backend = await where.open(clock);
        const capped = keyRecord({
          caps: [{ no: 0, limit: 305, period: "day", models: null, extra: 0, extraPeriodMs: 0 }],
        });
        const student = keyRecord({ mode: "token_budget", budgetTokens: 305, period: "day" });
        await backend.store.insertKey(capped, 10_000);
        await backend.store.insertKey(student, 0);
        await applyAll(backend);
        const jump = async (ms: number) => {
          if (restarts) await backend.close();
          clock.jumpWall(ms);
          if (restarts) backend = await where.open(clock);
          await applyAll(backend);
        };
        for (const key of [capped, student]) await spend(backend, clock, key, 200);
        for (const backMs of [2 * msPerHour, msPerDay, 30 * msPerDay]) {
          await jump(-backMs);
          for (const key of [capped, student]) await spend(backend, clock, key, 20);
          clock.advance(1_000);
          expect((await audit(backend.store)).differences).toEqual([]);
          await jump(backMs);
          expect((await audit(backend.store)).differences).toEqual([]);
        }
        for (const key of [capped, student]) {
          expect(await spend(backend, clock, key, 46)).toBeInstanceOf(GatewayError);
          expect(await spend(backend, clock, key, 45)).toEqual({ charged: 45, overrun: 0 });
        }
        const summaries = await backend.accounts.summaries([capped.id, student.id]);
        expect(
          summaries.map(({ caps, budgetUsed }) => [...caps.map(({ used }) => used), budgetUsed]),
        ).toEqual([[305, 0], [305]]);
        expect((await audit(backend.store)).differences).toEqual([]);
        expect(await backend.store.admin.listAudit({ limit: 10 })).toEqual([]);
        await backend.close();
      },
      120_000,
    );
  });

  test(`the audit agrees before, during and after the return of a clock that was ahead, on ${name}`, async () => {
    await using where = await place();
    const clock = new FakeClock("2026-11-16T12:00:00Z");
    const backend = await where.open(clock);
    const capped = keyRecord({
      caps: [{ no: 0, limit: 305, period: "day", models: null, extra: 0, extraPeriodMs: 0 }],
    });
    const student = keyRecord({ mode: "token_budget", budgetTokens: 305, period: "day" });
    await backend.store.insertKey(capped, 10_000);
    await backend.store.insertKey(student, 0);
    await applyAll(backend);
    const honest = async () => {
      expect((await audit(backend.store)).differences).toEqual([]);
    };
    const charged = { charged: 5, overrun: 0 };
    clock.jumpWall(10 * msPerDay);
    for (const key of [capped, student]) expect(await spend(backend, clock, key, 5)).toEqual(charged);
    await honest();
    clock.jumpWall(-10 * msPerDay);
    for (let call = 0; call < 30; call += 1) {
      for (const key of [capped, student]) expect(await spend(backend, clock, key, 5)).toEqual(charged);
      clock.advance(200);
    }
    await honest();
    clock.advance(2 * 60_000);
    expect(await returnToPresent(backend, clock)).toBe(true);
    await honest();
    for (const key of [capped, student]) expect(await spend(backend, clock, key, 5)).toEqual(charged);
    await honest();
    for (let day = 0; day < 11; day += 1) {
      clock.advance(msPerDay);
      for (const key of [capped, student]) expect(await spend(backend, clock, key, 5)).toEqual(charged);
      await honest();
    }
    await backend.close();
  }, 120_000);
}
