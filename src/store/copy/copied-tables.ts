import { accountTerms, type KeyColumn, keyColumns } from "../key-row.ts";
import { attemptFigureColumns, attemptKeyColumns } from "../reporting/attempt-columns.ts";
import { figureColumnNames } from "../reporting/figure-columns.ts";

/** What a column holds. SQLite has 0 and 1 for a `flag`. */
export type ColumnType = "number" | "text" | "flag" | "bytes";

/** Numbers are bigints, because sums of a key's life may exceed a double. */
export type CopiedValue = bigint | string | boolean | Uint8Array | null;

/** The values of a row, in the order of its table's columns. */
export type CopiedRow = readonly CopiedValue[];

/** A table as it is copied, whichever database it is in. Each database says how it reads and writes it. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that order the rows. */
  readonly key: readonly string[];
  readonly rowsAtOnce: number;
}

const usual = 1_000;
/** A row may be megabytes long. */
const large = 20;

const figures = numbers(...figureColumnNames);

/** In an order in which each refers only to those before. */
export const copiedTables: readonly CopiedTable[] = [
  table("accounts", ["no"], {
    ...numbers("no"),
    ...texts("id", "mode", "account_label", "key_caps"),
    ...numbers("created_at_ms", "is_open", "closed_at_ms", "account_revision"),
    ...ofKey(accountTerms),
    ...numbers("posted", "purchased", "used", "period_start_ms", "period_used", "counted_at_ms"),
  }),
  table("keys", ["no"], {
    ...numbers("no", "account_no", "created_at_ms", "revision"),
    ...texts("id"),
    ...ofKey(keyColumns),
  }),
  table("key_sums", ["key_no"], {
    ...numbers(
      "key_no",
      "day",
      "day_spend",
      "spent",
      "requests",
      "input_tokens",
      "output_tokens",
      "last_cost_nano",
    ),
  }),
  table("caps", ["no"], {
    ...numbers("no", "account_no", "key_no", "amount", "extra", "extra_period_ms", "period_start_ms", "used"),
    ...texts("period", "models"),
  }),
  table("rates", ["id"], { ...numbers("id"), ...texts("rates") }),
  table("entries", ["id"], {
    ...numbers(
      "id",
      "account_no",
      "key_no",
      "amount",
      "at_ms",
      "period_start_ms",
      "counted_at_ms",
      "revision",
    ),
    ...texts("kind", "exchange_id", "basis", "outcome", "reference", "note"),
    ...texts("route", "model", "provider", "upstream_model"),
    stream: "flag",
    ...numbers(
      "list_cost_nano",
      "cache_savings_nano",
      "recorded_at_ms",
      "status",
      "input_tokens",
      "cached_input_tokens",
    ),
    ...numbers("cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_nano"),
    ...numbers("first_byte_ms", "total_ms", "attempts", "rates_id"),
    ...texts("quantities", "asked_model", "labels"),
  }),
  table("exchange_endings", ["id"], {
    ...numbers("id", "key_no", "at_ms", "started_at_ms", "entry_id", "alike"),
    ...texts("exchange_id", "route", "model", "provider", "upstream_model", "outcome"),
    stream: "flag",
    ...texts("code", "message", "attempt_details", "labels"),
    ...numbers("status", "first_byte_ms", "total_ms", "attempts"),
  }),
  table(
    "responses",
    ["key_no", "route", "idempotency_key"],
    {
      ...numbers("key_no", "status", "stored_at_ms", "parts"),
      ...texts("route", "idempotency_key", "body_hash", "headers", "recording_id"),
      body: "bytes",
    },
    large,
  ),
  table(
    "response_parts",
    ["recording_id", "sequence"],
    { ...texts("recording_id"), ...numbers("sequence"), body: "bytes" },
    large,
  ),
  table(
    "turns",
    ["no"],
    {
      ...numbers("no", "key_no", "created_at_ms", "expires_at_ms", "bytes", "parts"),
      ...texts("id", "parent_id", "model", "provider", "recording_id"),
      body: "bytes",
    },
    large,
  ),
  table("turn_items", ["key_no", "digest", "turn_no"], {
    ...numbers("key_no", "turn_no"),
    ...texts("digest"),
  }),
  table("sealing_secret", ["id"], { ...numbers("id"), secret: "bytes" }),
  table("given_ids", ["no"], {
    ...numbers("no", "key_no", "tokens", "given_at_ms"),
    ...texts("digest", "provider", "credential"),
  }),
  table("caller_ids", ["no"], { ...numbers("no", "at_ms"), ...texts("caller_id", "exchange_id") }),
  table("usage_minutes", ["minute", "key_no", "model", "provider"], {
    ...numbers("minute", "key_no"),
    ...texts("model", "provider"),
    ...figures,
  }),
  table("usage_key_hours", ["key_no", "hour", "model", "provider"], {
    ...numbers("key_no", "hour"),
    ...texts("model", "provider"),
    ...figures,
  }),
  table("usage_all_hours", ["hour", "model", "provider"], {
    ...numbers("hour"),
    ...texts("model", "provider"),
    ...figures,
  }),
  table("usage_key_days", ["key_no", "day"], { ...numbers("key_no", "day"), ...figures }),
  table("latency_minutes", ["minute", "measure", "up_to_ms"], {
    ...numbers("minute", "up_to_ms", "requests"),
    ...texts("measure"),
  }),
  table("latency_all_hours", ["hour", "measure", "up_to_ms"], {
    ...numbers("hour", "up_to_ms", "requests"),
    ...texts("measure"),
  }),
  table("attempt_sums", attemptKeyColumns, {
    ...numbers("day", "node_no", ...attemptFigureColumns),
    ...texts("provider", "credential", "upstream_model", "ending"),
  }),
  table("audit_log", ["id"], {
    ...numbers("id", "at_ms"),
    ...texts("actor", "address", "action", "target", "detail"),
  }),
  table("admin_token", ["id"], { ...numbers("id"), ...texts("hash") }),
  table("findings", ["source"], { ...texts("source", "findings"), ...numbers("until_ms") }),
  table("alerts", ["id"], { ...texts("id", "finding"), ...numbers("level") }),
  table("alert_posts", ["no"], {
    ...numbers("no", "made_at_ms", "due_at_ms"),
    ...texts("alert_id", "body"),
  }),
  table("admin_tokens", ["id"], {
    ...texts("id", "label", "role", "hash"),
    ...numbers("created_at_ms", "revoked_at_ms"),
  }),
  table("progress", ["id"], {
    ...numbers("id", "revision", "entries_through", "endings_through"),
  }),
];

function table(
  name: string,
  key: readonly string[],
  columns: CopiedTable["columns"],
  rowsAtOnce = usual,
): CopiedTable {
  return { name, key, columns, rowsAtOnce };
}

function numbers(...names: readonly string[]): Record<string, ColumnType> {
  return Object.fromEntries(names.map((name) => [name, "number"]));
}

function texts(...names: readonly string[]): Record<string, ColumnType> {
  return Object.fromEntries(names.map((name) => [name, "text"]));
}

function ofKey(columns: readonly KeyColumn[]): Record<string, ColumnType> {
  const isNumber = ({ type }: KeyColumn) => type === "int" || type === "int8";
  return Object.fromEntries(columns.map((each) => [each.column, isNumber(each) ? "number" : "text"]));
}
