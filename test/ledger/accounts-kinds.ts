import { SharedAccounts } from "../../src/ledger/shared-accounts.ts";
import { moneyRules } from "../../src/ledger/shared-batch.ts";
import { joinStore, openStore } from "../../src/store/open.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { runIn, trustNodeClocks } from "../store/postgres/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { type AccountsBench, openMemory } from "./accounts-bench.ts";

export const accountsKinds: readonly (readonly [string, (gateways: number) => Promise<AccountsBench>])[] = [
  ["in memory", openMemory],
  ...(hasPostgres ? ([["on PostgreSQL", openShared]] as const) : []),
];

export async function openShared(count: number): Promise<AccountsBench> {
  return openByClock(count, new FakeClock("2026-11-16T12:00:00Z"), true);
}

/** Unless it is trusted, the database's own clock decides. */
export async function openByClock(
  count: number,
  clock: FakeClock,
  isTrusted: boolean,
): Promise<AccountsBench> {
  const server = sharedPostgres();
  const location = { url: server.url(await server.createDatabase()), password: null, prepare: true };
  const folders = Array.from({ length: count }, () => temporaryFolder());
  const store = await openStore({ location, clock, role: "gateway" });
  if (isTrusted) await runIn(location, trustNodeClocks);
  const nodes = await Promise.all(
    folders.map(({ dir }, index) =>
      joinStore({
        location,
        name: `node-${index}`,
        version: "1.0.0",
        dir,
        rules: moneyRules,
        report: () => {},
      }),
    ),
  );
  const gateways = nodes.map((node) => new SharedAccounts({ node, clock, keys: [], valueCaps: [] }));
  return {
    clock,
    store,
    gateways,
    async refresh() {
      const changes = await store.changesSince(0);
      for (const gateway of gateways) gateway.apply(changes);
    },
    returnToPresent: async () => (await store.returnToPresent(clock.wallMs())) !== null,
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.leave();
      await store.close();
      for (const folder of folders) folder[Symbol.dispose]();
    },
  };
}
