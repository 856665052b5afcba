import { moneyRules } from "../../../src/ledger/shared-batch.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { PostgresClient } from "../../../src/store/postgres/client.ts";
import { releaseOf } from "../../../src/store/postgres/lanes/hold-end.ts";
import type { MoneyConnection } from "../../../src/store/postgres/lanes/money-batch.ts";
import { migrate } from "../../../src/store/postgres/migrate.ts";
import { UnacknowledgedCharges } from "../../../src/store/postgres/node/unacknowledged.ts";
import { rollUp } from "../../../src/store/postgres/rollup.ts";
import { type PostgresServer, sharedPostgres } from "../../support/postgres.ts";

/** A database of a test's own on the server that all tests of the process share. */
export interface PostgresDatabase extends AsyncDisposable {
  readonly server: PostgresServer;
  readonly name: string;
  readonly url: string;
}

const templates = new WeakMap<PostgresServer, Promise<string>>();

/** With Sluice's schema in it, copied from a template in a twentieth of a second. */
export async function migratedDatabase(server = sharedPostgres()): Promise<PostgresDatabase> {
  let template = templates.get(server);
  if (template === undefined) {
    template = makeTemplate(server);
    templates.set(server, template);
  }
  return databaseOf(server, await server.createDatabase(await template));
}

export async function emptyDatabase(server = sharedPostgres()): Promise<PostgresDatabase> {
  return databaseOf(server, await server.createDatabase());
}

export function clientOf(url: string, { max = 4, prepare = true, deadlineMs = 30_000 } = {}): PostgresClient {
  return new PostgresClient({ address: parseAddress(url, null), max, prepare, deadlineMs });
}

/** For batches that a test sends itself. */
export function connectionOf(client: PostgresClient): MoneyConnection {
  return { client, rules: moneyRules };
}

/** Runs one statement. */
export async function runIn({ url }: Pick<PostgresDatabase, "url">, statement: string): Promise<void> {
  const client = clientOf(url, { max: 1 });
  try {
    await client.query(statement);
  } finally {
    await client.close();
  }
}

function databaseOf(server: PostgresServer, name: string): PostgresDatabase {
  return { server, name, url: server.url(name), [Symbol.asyncDispose]: () => server.dropDatabase(name) };
}

async function makeTemplate(server: PostgresServer): Promise<string> {
  const name = await server.createDatabase();
  await makeSchema(server.url(name));
  return name;
}

/** In place of the database's clock: tests have their own. */
export const trustNodeClocks =
  "CREATE OR REPLACE FUNCTION sluice_now(p_node_ms int8) RETURNS int8 LANGUAGE sql AS 'SELECT p_node_ms'";

export async function makeSchema(url: string): Promise<void> {
  const client = clientOf(url, { max: 1 });
  await migrate(client);
  await client.query(trustNodeClocks);
  await client.close();
}

/** Adds up everything that has been committed. */
export async function rollUpAll(client: PostgresClient): Promise<void> {
  while (await rollUp(client));
}

/** As a gateway does whose database is away when it is killed. */
export async function leaveCharges(dir: string, url: string, count: number): Promise<void> {
  const client = clientOf(url);
  const [state] = await client.query<{ id: string }>("SELECT database_id AS id FROM state");
  await client.close();
  const file = UnacknowledgedCharges.create(dir, 7, state?.id ?? "");
  file.keep(Array.from({ length: count }, (_, index) => releaseOf(`req_${index}`, "key_1")));
  file.close();
}
