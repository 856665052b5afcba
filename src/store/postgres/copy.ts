import type { ColumnType, CopiedRow, CopiedTable, CopiedValue } from "../copy/copied-tables.ts";
import type { CopySource, CopyTarget } from "../copy/copy.ts";
import type { Moved } from "../moved.ts";
import type { PostgresLocation } from "../settings.ts";
import { type RecomputedTotals, StoreRefusal } from "../store.ts";
import { parseAddress } from "./address.ts";
import { type Parameter, PostgresClient, type Query } from "./client.ts";
import { Database } from "./database.ts";
import { migrate, migrations, readSchema } from "./migrate.ts";
import { markMoved, refuseMoved } from "./moved.ts";
import { unmadeCharges } from "./node/unacknowledged.ts";
import { requireSafeServer } from "./requirements.ts";
import { recomputeTotals } from "./tables/recompute.ts";

const copyDeadlineMs = 24 * 3_600_000;
/** The other side may be checking its files meanwhile. */
const copyIdleMs = 3_600_000;
const connectTimeoutMs = 5_000;
/** What is dated before that, by a wrong clock, gets no partitions of its own. */
const firstMonthMs = Date.UTC(2020, 0);

/** Reads a database that no gateway uses, as of one moment; gateways that start and commands that change it wait. */
export function withPostgresSource<Result>(
  location: PostgresLocation,
  nodeFolders: readonly string[],
  work: (source: CopySource) => Promise<Result>,
): Promise<Result> {
  return connected(location, async (client) => {
    const { name } = client.address;
    const schema = await readSchema(client.query, name);
    if (schema.version < migrations.length) {
      throw new StoreRefusal(
        "schema_missing",
        `The database ${name} is not up to date. Nothing was copied. Run \`sluice store check --migrate\` first.`,
      );
    }
    const whole = async (query: Query) => {
      await keepOthersOut(query, name);
      await query("SELECT revision FROM state FOR UPDATE");
      await refuseMoved(query, name);
      await refuseUnmadeCharges(query, name, nodeFolders);
      const [holds] = await query<{ open: number }>("SELECT count(*)::int AS open FROM holds");
      if (holds?.open === 0) return work(new PostgresEnd(name, query));
      throw new StoreRefusal(
        "in_use",
        `A gateway of ${name} ended in the middle of requests. Nothing was copied. Start one and let it take over, so ` +
          "that they are charged.",
      );
    };
    return client.transaction(whole, {
      begin: "ISOLATION LEVEL REPEATABLE READ",
      deadlineMs: copyDeadlineMs,
      idleMs: copyIdleMs,
    });
  });
}

/** Charges that a gateway of this machine has made, and that the database never got. */
async function refuseUnmadeCharges(query: Query, name: string, folders: readonly string[]): Promise<void> {
  const [state] = await query<{ id: string }>("SELECT database_id AS id FROM state");
  for (const folder of folders) {
    const charges = unmadeCharges(folder, state?.id ?? "");
    if (charges === 0) continue;
    throw new StoreRefusal(
      "unmade_charges",
      `A gateway has left ${charges} charges in ${folder} that ${name} does not have yet. Nothing was copied. Start a gateway ` +
        "with that folder and stop it again: that makes them.",
    );
  }
}

export function withPostgresTarget<Result>(
  location: PostgresLocation,
  work: (target: CopyTarget) => Promise<Result>,
): Promise<Result> {
  return connected(location, async (client) => {
    const { name } = client.address;
    await requireSafeServer(client.query, name);
    await migrate(client);
    const whole = async (query: Query) => {
      await keepOthersOut(query, name);
      const [found] = await query<{ isEmpty: boolean }>(
        `SELECT NOT EXISTS (SELECT FROM keys) AND NOT EXISTS (SELECT FROM accounts) AND NOT EXISTS (SELECT FROM entries) AND NOT EXISTS (SELECT FROM audit_log)
          AND NOT EXISTS (SELECT FROM admin_token) AS "isEmpty"`,
      );
      if (found?.isEmpty !== true) {
        throw new StoreRefusal(
          "not_empty",
          `The database ${name} has data already. Nothing was copied. Name an empty one.`,
        );
      }
      await query("DELETE FROM rollups");
      await query("DELETE FROM state");
      const result = await work(new PostgresEnd(name, query));
      for (const [table, column] of numberedTables) await query(continueNumbers(table, column));
      return result;
    };
    return client.transaction(whole, { deadlineMs: copyDeadlineMs, idleMs: copyIdleMs });
  });
}

async function connected<Result>(
  location: PostgresLocation,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const { url, password, prepare } = location;
  const deadlineMs = 30_000;
  const client = new PostgresClient({ address: parseAddress(url, password), max: 1, prepare, deadlineMs });
  try {
    await new Database(client, connectTimeoutMs).read("SELECT 1");
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Gateways join by a row of `nodes`. */
async function keepOthersOut(query: Query, name: string): Promise<void> {
  await query("LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE");
  const [row] = await query<{ nodes: number }>(
    "SELECT count(*)::int AS nodes FROM nodes WHERE left_at IS NULL AND dead_at IS NULL",
  );
  if (row?.nodes === 0) return;
  throw new StoreRefusal(
    "in_use",
    `The database ${name} is in use: \`sluice nodes\` lists ${row?.nodes}. Nothing was copied. Stop them first. Of one ` +
      "that was killed, start a gateway with its data folder and stop it again: that makes its last charges.",
  );
}

class PostgresEnd implements CopySource, CopyTarget {
  readonly name: string;
  readonly #query: Query;
  readonly #months = new Set<string>();

  constructor(name: string, query: Query) {
    this.name = name;
    this.#query = query;
  }

  async countEntries(): Promise<number> {
    const [row] = await this.#query<{ entries: number }>("SELECT count(*)::float8 AS entries FROM entries");
    return row?.entries ?? 0;
  }

  async read(table: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]> {
    const columns = Object.entries(table.columns);
    const selected = columns.map(([name, type]) => (type === "number" ? `${name}::text AS ${name}` : name));
    const places = table.key.map((name) => columns.findIndex(([column]) => column === name));
    const cursor = after === null ? [] : places.map((place) => textOf(after[place] ?? null));
    const casts = table.key.map(
      (name, place) => `$${place + 1}::text${table.columns[name] === "number" ? "::int8" : ""}`,
    );
    // By their bytes, as SQLite orders them, and not as a language does.
    const key = table.key
      .map((name) => (table.columns[name] === "number" ? `t.${name}` : `t.${name} COLLATE "C"`))
      .join(", ");
    const rows = await this.#query<Record<string, string | boolean | Uint8Array | null>>(
      `SELECT ${selected.map((column) => `t.${column}`).join(", ")} FROM ${sources[table.name] ?? table.name} t
      ${after === null ? "" : `WHERE (${key}) > (${casts.join(", ")})`} ORDER BY ${key} LIMIT ${table.rowsAtOnce}`,
      cursor,
    );
    return rows.map((row) => columns.map(([name, type]) => copied(row[name] ?? null, type)));
  }

  async write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const columns = Object.entries(table.columns);
    if (table.name === "entries") {
      await this.#makeMonths(rows.map((row) => Number(row[columns.findIndex(([name]) => name === "at_ms")])));
    }
    const lists = columns.map((_, place) => rows.map((row) => row[place] ?? null).map(sendable));
    await this.#query(insertion(table), lists);
    if (table.name === "entries") await this.#query(insertReferences, [lists[0] ?? []]);
  }

  markMoved(moved: Moved): Promise<void> {
    return markMoved(this.#query, moved);
  }

  recomputeTotals(): Promise<readonly RecomputedTotals[]> {
    return recomputeTotals(this.#query);
  }

  async #makeMonths(moments: readonly number[]): Promise<void> {
    for (const atMs of moments) {
      const month = new Date(atMs).toISOString().slice(0, 7);
      if (atMs < firstMonthMs || this.#months.has(month)) continue;
      this.#months.add(month);
      await this.#query("SELECT sluice_make_months($1::int8, 0)", [atMs]);
    }
  }
}

function copied(value: string | boolean | Uint8Array | null, type: ColumnType): CopiedValue {
  return type === "number" && typeof value === "string" ? BigInt(value) : value;
}

function textOf(value: CopiedValue): Parameter {
  return typeof value === "bigint" ? String(value) : value;
}

/** Arrays hold texts and flags only: numbers as their digits, bytes as hex. */
function sendable(value: CopiedValue): string | boolean | null {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

function insertion({ name, columns }: CopiedTable): string {
  const names = Object.keys(columns);
  const lists = Object.values(columns).map(
    (type, place) => `$${place + 1}::${type === "flag" ? "bool" : "text"}[]`,
  );
  const values: Record<string, string> = Object.fromEntries(
    Object.entries(columns).map(([column, type]) => [column, fromList(`u.${column}`, type)]),
  );
  Object.assign(values, writtenAs[name]);
  const from = `unnest(${lists.join(", ")}) u (${names.join(", ")})`;
  if (name === "progress") return insertProgress(from);
  return `INSERT INTO ${name === "responses" ? "idempotency" : name} (${Object.keys(values).join(", ")})
    OVERRIDING SYSTEM VALUE SELECT ${Object.values(values).join(", ")} FROM ${from}`;
}

function fromList(column: string, type: ColumnType): string {
  if (type === "number") return `${column}::int8`;
  return type === "bytes" ? `decode(${column}, 'hex')` : column;
}

/** Where a table is not read as it is. A period that was turned by a hold alone is that of the last charge again. */
const sources: Readonly<Record<string, string>> = {
  accounts: `(SELECT no, id, mode, account_label, is_open, closed_at_ms, key_caps, account_revision, counted_at_ms,
      budget_tokens, period, created_at_ms, posted, purchased, used, coalesce(c.period_start_ms, 0) AS period_start_ms,
      coalesce(c.period_used, 0) AS period_used
    FROM accounts LEFT JOIN (
      SELECT DISTINCT ON (account_no) account_no, period_start_ms, -sum(amount)::int8 AS period_used FROM entries
      WHERE kind = 'charge' GROUP BY account_no, period_start_ms ORDER BY account_no, period_start_ms DESC
    ) c ON c.account_no = accounts.no)`,
  responses: "(SELECT * FROM idempotency WHERE stored_at_ms IS NOT NULL)",
  progress: "(SELECT state.id, revision, entries_through, endings_through FROM state, rollups)",
};

/** Columns that only this schema has. */
const writtenAs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  entries: { month: "sluice_month(u.at_ms::int8)" },
  exchange_endings: { entry_month: "(SELECT month FROM entries WHERE entries.id = u.entry_id::int8)" },
  response_parts: { written_at_ms: "(extract(epoch FROM clock_timestamp()) * 1000)::int8" },
};

function insertProgress(from: string): string {
  return `WITH u AS (SELECT * FROM ${from}), s AS (
      INSERT INTO state (id, revision) SELECT id::int, revision::int8 FROM u
    ) INSERT INTO rollups (id, entries_through, endings_through)
    SELECT id::int, entries_through::int8, endings_through::int8 FROM u`;
}

const insertReferences = `
INSERT INTO entry_references (account_no, reference, entry_id, month)
SELECT account_no, reference, id, month FROM entries
WHERE id = ANY ($1::text[]::int8[]) AND reference IS NOT NULL`;

const numberedTables = [
  ["accounts", "no"],
  ["keys", "no"],
  ["caps", "no"],
  ["entries", "id"],
  ["exchange_endings", "id"],
  ["given_ids", "no"],
  ["turns", "no"],
  ["caller_ids", "no"],
  ["audit_log", "id"],
  ["alert_posts", "no"],
] as const;

/** The next row gets a number of its own. Keys and accounts are numbered together. */
function continueNumbers(table: string, column: string): string {
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`;
  const last =
    table === "keys"
      ? "(SELECT greatest((SELECT max(no) FROM keys), (SELECT max(no) FROM accounts)))"
      : `(SELECT max(${column}) FROM ${table})`;
  return `SELECT setval(${sequence}, ${last}) WHERE ${last} IS NOT NULL`;
}
