import { test } from "bun:test";
import { configFor } from "../support/config.ts";
import { hasPostgres, type PostgresServer, withoutPostgres } from "../support/postgres.ts";
import type { ScriptedProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

export const adminToken = "slua_of-all-nodes";

/** Several gateways, each a process of its own, on one database and one provider. */
export interface Nodes extends AsyncDisposable {
  readonly all: readonly Sluice[];
  readonly first: Sluice;
}

export async function startNodes(
  count: number,
  postgres: PostgresServer,
  provider: ScriptedProvider,
): Promise<Nodes> {
  const url = postgres.url(await postgres.createDatabase());
  const config = configFor({ url: provider.url });
  const env = { SLUICE_STORE: url, SLUICE_ADMIN_TOKEN: adminToken };
  const start = () => startSluice({ config, env });
  // The first makes the schema: not because the others could not, but so that one can be told from the rest.
  const first = await start();
  const others = await Promise.all(Array.from({ length: count - 1 }, start));
  const all = [first, ...others];
  return {
    all,
    first,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((node) => node.dispose()));
    },
  };
}

/** Registers the tests, or says aloud that they cannot run here. */
export function withPostgres(register: () => void): void {
  if (hasPostgres) register();
  else test.skipIf(true)(withoutPostgres, () => {});
}
