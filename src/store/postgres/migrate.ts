import { fingerprintOf } from "../fingerprint.ts";
import { StoreError } from "../store.ts";
import type { PostgresClient, Query } from "./client.ts";
import { formerFingerprint, upgradeFormer } from "./former/upgrade.ts";
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
 *
 * They are never changed: a database keeps the fingerprint of each one that made it, and is rejected if this program has
 * another one.
 */
export const migrations: readonly string[] = [first, second, third, fourth, fifth];

export interface SchemaState {
  /** 0 for an empty database. */
  readonly version: number;
  /** A program that knows fewer migrations than this must not use it. */
  readonly needs: number;
  /** Whether no migration is missing. */
  readonly isCurrent: boolean;
}

/** An arbitrary number that no other program uses for its locks. */
const migrationLock = 5_143_670_921;
const migrationDeadlineMs = 600_000;
/** The table name of builds before this list of migrations. Those builds ignore unknown tables. */
const earliestTable = "schema_migrations";

/** Upgrades the schema. The first process does it, and the others wait. */
export async function migrate(
  client: PostgresClient,
  steps: readonly string[] = migrations,
): Promise<SchemaState> {
  const { name } = client.address;
  const before = await readSchema(client.query, name, steps);
  if (before.isCurrent) return before;
  const work = async (query: Query) => {
    await query("SELECT pg_advisory_xact_lock($1::int8)", [migrationLock]);
    const { version } = await readSchema(query, name, steps);
    if (version === 0) await prepareEmpty(query, name);
    if (isFormer(await readApplied(query, name))) {
      await upgradeFormer(query, name);
      await query("UPDATE schema_steps SET fingerprint = $1", [fingerprintOf(first)]);
    }
    for (let step = version; step < steps.length; step += 1)
      await runStep(query, steps[step] ?? "", step + 1);
    return readSchema(query, name, steps);
  };
  return client.transaction(work, { deadlineMs: migrationDeadlineMs });
}

interface AppliedStep {
  readonly version: number;
  readonly needs: number;
  readonly fingerprint: string;
}

/** Throws for a schema that this program cannot use. A newer schema is fine unless it needs a newer program. */
export async function readSchema(
  query: Query,
  name: string,
  steps: readonly string[] = migrations,
): Promise<SchemaState> {
  const applied = await readApplied(query, name);
  const state = {
    version: applied.length,
    needs: Math.max(0, ...applied.map(({ needs }) => needs)),
    isCurrent: applied.length >= steps.length && !isFormer(applied),
  };
  if (state.needs > steps.length) throw newerSchema(state, steps.length, name);
  const isOther = applied.some(({ version, fingerprint }) => {
    const known = steps[version - 1];
    return known !== undefined && fingerprintOf(known) !== fingerprint;
  });
  if (isOther && !isFormer(applied)) throw otherSchema(name);
  return state;
}

function isFormer(applied: readonly AppliedStep[]): boolean {
  return applied[0]?.fingerprint === formerFingerprint;
}

/** Not `to_regclass`: inside a transaction it may miss tables that others have created since it began. */
async function readApplied(query: Query, name: string): Promise<readonly AppliedStep[]> {
  const tables = await query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()
      AND tablename IN ('schema_steps', '${earliestTable}')`,
  );
  if (tables.some((table) => table.name === earliestTable)) throw otherSchema(name);
  if (tables.length === 0) return [];
  return query<AppliedStep>("SELECT version, needs, fingerprint FROM schema_steps ORDER BY version");
}

function newerSchema(
  { version, needs }: Omit<SchemaState, "isCurrent">,
  known: number,
  name: string,
): StoreError {
  return new StoreError(
    "newer_schema",
    `The database ${name} was upgraded by a newer Sluice (schema ${version}, which needs support for ` +
      `schema ${needs}; this one has ${known}). Nothing was changed. Use that newer version.`,
  );
}

function otherSchema(name: string): StoreError {
  return new StoreError(
    "other_schema",
    `The database ${name} has the schema of a different build. Nothing was changed. Run \`sluice store export FILE\` with ` +
      "that build, then `sluice store import FILE` with this one, into an empty one.",
  );
}

/** Leaves another program's database untouched. */
async function prepareEmpty(query: Query, name: string): Promise<void> {
  const [found] = await query<{ tables: number }>(
    "SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = current_schema()",
  );
  if ((found?.tables ?? 0) > 0) {
    throw new StoreError(
      "not_a_database",
      `The database ${name} has tables of other programs. Nothing was changed. Use a separate database for Sluice.`,
    );
  }
  await query(`CREATE TABLE schema_steps (
    version int PRIMARY KEY,
    needs int NOT NULL,
    fingerprint text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`);
}

async function runStep(query: Query, text: string, version: number): Promise<void> {
  const needs = Number(/^-- needs: (\d+)$/m.exec(text)?.[1] ?? 0);
  await query(text);
  await query("INSERT INTO schema_steps (version, needs, fingerprint) VALUES ($1, $2, $3)", [
    version,
    needs,
    fingerprintOf(text),
  ]);
}
