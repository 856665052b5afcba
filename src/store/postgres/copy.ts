import { plural } from "../../base/text/plural.ts";
import type {
  CopiedColumns,
  CopiedRow,
  CopiedTable,
  CopiedValue,
  CopyTarget,
  StoreProgress,
  StoreSource,
} from "../copy/copy.ts";
import { hasHolds, isEmpty, QueriedCopyEnd } from "../copy/queried-end.ts";
import { rejectMoved } from "../moved.ts";
import type { Work } from "../query.ts";
import type { PostgresLocation } from "../settings.ts";
import { StoreError } from "../store.ts";
import { pauseBatches } from "../tables/batch-table.ts";
import { type PostgresClient, type Query, withClient } from "./client.ts";
import { Database, performed } from "./database.ts";
import { migrate, readSchema } from "./migrate.ts";
import { unmadeCharges } from "./node/unacknowledged.ts";
import { requireSafeServer } from "./requirements.ts";
import { addDeleted } from "./rollup.ts";

const copyDeadlineMs = 24 * 3_600_000;
/** The other side may be checking its files meanwhile, so idle time is generous. */
const copyIdleMs = 3_600_000;
const connectTimeoutMs = 5_000;
/** Rows with an earlier date, from a wrong clock, do not get their own partition. */
const firstMonthMs = Date.UTC(2020, 0);

/** Reads a database that no gateway uses, as of one moment. Starting gateways and changing commands wait. */
export function withPostgresSource<Result>(
  location: PostgresLocation,
  nodeFolders: readonly string[],
  work: (source: StoreSource) => Promise<Result>,
): Promise<Result> {
  return connected(location, async (client) => {
    const { name } = client.address;
    const schema = await readSchema(client.query, name);
    if (!schema.isCurrent) {
      throw new StoreError(
        "schema_missing",
        `The database ${name} is not up to date. Nothing was copied. Run \`sluice store check --migrate\` first.`,
      );
    }
    const whole = async (query: Query) => {
      await blockJoins(query, name);
      await query("SELECT revision FROM state FOR UPDATE");
      await performed(rejectMoved(name), query);
      await rejectUnmadeCharges(query, name, nodeFolders);
      if (!(await performed(hasHolds(), query))) return work(new PostgresCopyEnd(name, query));
      throw new StoreError(
        "in_use",
        `A gateway on ${name} stopped with requests in progress. Nothing was copied. Start a gateway to take them over, so ` +
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

/** Fails if gateways on this machine have charges that the database never received. */
async function rejectUnmadeCharges(query: Query, name: string, folders: readonly string[]): Promise<void> {
  const [state] = await query<{ id: string }>("SELECT database_id AS id FROM state");
  for (const folder of folders) {
    const charges = unmadeCharges(folder, state?.id ?? "");
    if (charges === 0) continue;
    throw new StoreError(
      "unmade_charges",
      `${folder} has ${plural(charges, "charge")} not yet written to ${name}. Nothing was copied. Start a gateway ` +
        "with that folder to send them, stop it, and try again.",
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
      await blockJoins(query, name);
      if (await performed(isEmpty(), query)) return work(new PostgresCopyEnd(name, query));
      throw new StoreError(
        "not_empty",
        `The database ${name} already has data. Nothing was copied. Use an empty database.`,
      );
    };
    return client.transaction(whole, { deadlineMs: copyDeadlineMs, idleMs: copyIdleMs });
  });
}

function connected<Result>(
  location: PostgresLocation,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  return withClient(location, async (client) => {
    await new Database(client, connectTimeoutMs).read("SELECT 1");
    return work(client);
  });
}

/** Blocks gateways from joining, which insert a row of `nodes`. */
async function blockJoins(query: Query, name: string): Promise<void> {
  await query("LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE");
  const [row] = await query<{ nodes: number }>(
    "SELECT count(*)::int AS nodes FROM nodes WHERE left_at IS NULL AND dead_at IS NULL",
  );
  if (row?.nodes === 0) return;
  throw new StoreError(
    "in_use",
    `The database ${name} is in use by ${plural(row?.nodes ?? 0, "gateway")} (\`sluice nodes\`). Nothing was copied. Stop them first. If one ` +
      "was killed, start it again and stop it, so that it sends its last charges.",
  );
}

class PostgresCopyEnd extends QueriedCopyEnd implements StoreSource, CopyTarget {
  readonly name: string;
  readonly #query: Query;
  readonly #flags = new Set<string>();
  readonly #months = new Set<string>();

  constructor(name: string, query: Query) {
    super();
    this.name = name;
    this.#query = query;
  }

  async columnsOf(table: string): Promise<CopiedColumns> {
    const found = await this.#query<{ name: string; type: string }>(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name = $1`,
      [table],
    );
    const shared = found.filter(({ name }) => ownColumns[table]?.includes(name) !== true);
    for (const { name, type } of shared) if (type === "boolean") this.#flags.add(`${table} ${name}`);
    return Object.fromEntries(shared.map(({ name, type }) => [name, copiedType(type)]));
  }

  read({ name: table, columns, key, rowsAtOnce }: CopiedTable, after: CopiedRow | null) {
    const selected = Object.entries(columns).map(([name, type]) => {
      const value = `t.${name}`;
      if (type !== "number") return `${value} AS ${name}`;
      return `${value}${this.#flags.has(`${table} ${name}`) ? "::int" : ""}::text AS ${name}`;
    });
    const isNumber = (name: string) => columns[name] === "number";
    // Byte order, as in SQLite, not a language's collation.
    const order = key.map((name) => (isNumber(name) ? `t.${name}` : `t.${name} COLLATE "C"`)).join(", ");
    const last = key.map((name, place) => `$${place + 1}::text${isNumber(name) ? "::int8" : ""}`);
    return this.#query<CopiedRow>(
      `SELECT ${selected.join(", ")} FROM ${sources[table] ?? `${table} t`}
      ${after === null ? "" : `WHERE (${order}) > (${last.join(", ")})`} ORDER BY ${order} LIMIT ${rowsAtOnce}`,
      after === null ? [] : key.map((name) => after[name] ?? null),
    );
  }

  async write({ name: table, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const isEntries = table === "entries";
    if (isEntries) await this.#makeMonths(rows.map((row) => Number(row["at_ms"])));
    const values = Object.entries(columns).map(([name, type]) => [name, this.#fromList(table, name, type)]);
    const written: Record<string, string> = { ...Object.fromEntries(values), ...writtenAs[table] };
    const names = Object.keys(columns);
    const lists = names.map((_, place) => `$${place + 1}::text[]`).join(", ");
    await this.#query(
      `INSERT INTO ${table} (${Object.keys(written).join(", ")}) OVERRIDING SYSTEM VALUE
      SELECT ${Object.values(written).join(", ")} FROM unnest(${lists}) u (${names.join(", ")})`,
      names.map((name) => rows.map((row) => sendable(row[name] ?? null))),
    );
    if (isEntries) await this.#query(insertReferences, [rows.map((row) => sendable(row["id"] ?? null))]);
  }

  async finish({ revision }: StoreProgress): Promise<void> {
    await this.#query("UPDATE state SET revision = $1::int8", [revision]);
    await this.#query(addDeleted);
    await this.#query(pauseBatches);
    const numbered = await this.#query<{ table: string; column: string }>(findNumbered);
    for (const { table, column } of numbered) await this.#query(continueNumbers(table, column));
  }

  perform<Result>(work: Work<Result>): Promise<Result> {
    return performed(work, this.#query);
  }

  #fromList(table: string, name: string, type: CopiedColumns[string]): string {
    if (type === "text") return `u.${name}`;
    if (type === "bytes") return `decode(u.${name}, 'hex')`;
    return this.#flags.has(`${table} ${name}`) ? `u.${name}::int::bool` : `u.${name}::int8`;
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

function copiedType(type: string): CopiedColumns[string] {
  if (type === "text") return "text";
  return type === "bytea" ? "bytes" : "number";
}

/** Array parameters contain only text. */
function sendable(value: CopiedValue): string | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

const ownColumns: Readonly<Record<string, readonly string[]>> = {
  accounts: ["held"],
  caps: ["held"],
  cap_values: ["held"],
  entries: ["month", "node_no", "completes"],
  exchange_endings: ["node_no", "entry_month"],
  responses: ["node_no", "exchange_id", "claimed_at_ms"],
  response_parts: ["written_at_ms"],
};

/** Tables whose copy differs from the stored rows. */
const sources: Readonly<Record<string, string>> = {
  responses: "(SELECT * FROM responses WHERE stored_at_ms IS NOT NULL) t",
};

type ColumnValues = Readonly<Record<string, Readonly<Record<string, string>>>>;

const writtenAs: ColumnValues = {
  entries: { month: "sluice_month(u.at_ms::int8)" },
  exchange_endings: { entry_month: "(SELECT month FROM entries WHERE entries.id = u.entry_id::int8)" },
  response_parts: { written_at_ms: "(extract(epoch FROM clock_timestamp()) * 1000)::int8" },
};

const insertReferences = `
INSERT INTO entry_references (account_no, reference, entry_id, month)
SELECT account_no, reference, id, month FROM entries
WHERE id = ANY ($1::text[]::int8[]) AND reference IS NOT NULL`;

const findNumbered = `
SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
WHERE table_schema = current_schema() AND (is_identity = 'YES' OR column_default LIKE 'nextval(%') AND table_name NOT LIKE 'entries\\_%'`;

/** Continues the numbering after the copied rows. Keys and accounts share one sequence. */
function continueNumbers(table: string, column: string): string {
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`;
  const last =
    table === "keys"
      ? "(SELECT greatest((SELECT max(no) FROM keys), (SELECT max(no) FROM accounts)))"
      : `(SELECT max(${column}) FROM ${table})`;
  return `SELECT setval(${sequence}, ${last}) WHERE ${last} IS NOT NULL`;
}
