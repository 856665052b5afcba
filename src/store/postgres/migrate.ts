import { StoreRefusal } from "../store.ts";
import type { PostgresClient, Query } from "./client.ts";
import first from "./migrations/001.sql" with { type: "text" };
import second from "./migrations/002.sql" with { type: "text" };
import third from "./migrations/003.sql" with { type: "text" };
import fourth from "./migrations/004.sql" with { type: "text" };
import fifth from "./migrations/005.sql" with { type: "text" };

/**
 * The migrations, in order; a schema's version is how many have run. They only go forward, and while one runs the release
 * before it may still be running on other machines: they add, and what they replace is dropped a release later. One
 * that older releases cannot live with begins with the line `-- needs: N`, where N is the oldest schema a program
 * must know to use the database from then on.
 */
export const migrations: readonly string[] = [first, second, third, fourth, fifth];

export interface SchemaState {
  /** 0 for an empty database. */
  readonly version: number;
  /** A program that knows fewer migrations than this must not use it. */
  readonly needs: number;
}

/** Any number will do that no other program uses for its own locks. */
const migrationLock = 5_143_670_921;
const migrationDeadlineMs = 600_000;

/** Brings the schema up to date. Whoever comes first does it, the others wait. */
export async function migrate(
  client: PostgresClient,
  steps: readonly string[] = migrations,
): Promise<SchemaState> {
  const before = await readSchema(client.query);
  refuseNewer(before, steps.length, client.address.name);
  if (before.version >= steps.length) return before;
  const work = async (query: Query) => {
    await query("SELECT pg_advisory_xact_lock($1::int8)", [migrationLock]);
    const { version } = await readSchema(query);
    if (version === 0) await prepareEmpty(query, client.address.name);
    for (let step = version; step < steps.length; step += 1)
      await runStep(query, steps[step] ?? "", step + 1);
    return readSchema(query);
  };
  return client.transaction(work, { deadlineMs: migrationDeadlineMs });
}

/** Not `to_regclass`: within a transaction it may not see what another has made since it began. */
export async function readSchema(query: Query): Promise<SchemaState> {
  const [found] = await query<{ found: boolean }>(
    `SELECT EXISTS (
      SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations') AS found`,
  );
  if (found?.found !== true) return { version: 0, needs: 0 };
  const [state] = await query<SchemaState>(
    "SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM schema_migrations",
  );
  return state ?? { version: 0, needs: 0 };
}

/** A newer schema is fine as long as it does not say that it needs a newer program. */
export function refuseNewer({ version, needs }: SchemaState, known: number, name: string): void {
  if (needs <= known) return;
  throw new StoreRefusal(
    "newer_schema",
    `The database ${name} was changed by a newer Sluice (schema ${version}, which needs a program that knows ` +
      `schema ${needs}; this one knows ${known}). Nothing was changed. Use that newer version.`,
  );
}

/** Another program's database is not touched. */
async function prepareEmpty(query: Query, name: string): Promise<void> {
  const [found] = await query<{ tables: number }>(
    "SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = current_schema()",
  );
  if ((found?.tables ?? 0) > 0) {
    throw new StoreRefusal(
      "not_a_database",
      `The database ${name} has tables, but not Sluice's. Nothing was changed. Give Sluice a database of its own.`,
    );
  }
  await query(`CREATE TABLE schema_migrations (
    version int PRIMARY KEY,
    needs int NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`);
}

async function runStep(query: Query, text: string, version: number): Promise<void> {
  const needs = Number(/^-- needs: (\d+)$/m.exec(text)?.[1] ?? 0);
  await query(text);
  await query("INSERT INTO schema_migrations (version, needs) VALUES ($1, $2)", [version, needs]);
}
