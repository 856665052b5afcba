import { type AttributeKind, type KeyAttribute, keyAttributeList } from "../base/key-attributes.ts";
import type { TpmLimit } from "../base/models/tpm-limit.ts";
import type { Tags } from "../base/requests/labels.ts";
import type { KeyChanges, KeyRecord } from "./records.ts";
import { columnOf } from "./reporting/total-columns.ts";
import { capsFrom, selectCaps } from "./tables/cap-table.ts";

/** `json` is stored as text. */
type KeyColumnType = "text" | "json" | "int" | "int8";

/** The column for a field of a key's record, in every database. */
export interface KeyColumn {
  readonly field: keyof KeyChanges;
  readonly column: string;
  readonly type: KeyColumnType;
}

const attributeTypes: Readonly<Record<AttributeKind, KeyColumnType>> = {
  text: "text",
  name: "text",
  provider: "text",
  models: "json",
  positive: "int",
  count: "int8",
  period: "text",
  moment: "int8",
  content: "text",
  tpm: "json",
  tags: "json",
  flag: "int",
};

/** The columns of `keys` that can change. */
export const keyColumns: readonly KeyColumn[] = [
  keyColumn("hash", "text"),
  keyColumn("prefix", "text"),
  keyColumn("status", "text"),
  keyColumn("previousHash", "text"),
  keyColumn("previousUntilMs", "int8"),
  ...attributeColumns("keys"),
];

/** The columns of `accounts` that a key's record shows and changes. */
export const accountTerms: readonly KeyColumn[] = attributeColumns("accounts");

function attributeColumns(table: KeyAttribute["table"]): KeyColumn[] {
  const attributes = keyAttributeList.filter((attribute) => attribute.table === table);
  return attributes.map(({ field, kind }) => keyColumn(field, attributeTypes[kind]));
}

function keyColumn(field: KeyColumn["field"], type: KeyColumnType): KeyColumn {
  return { field, column: columnOf(field), type };
}

/** A key, with the numbers of the key and its account in other tables. */
export interface NumberedKey {
  readonly no: number;
  readonly accountNo: number;
  readonly key: KeyRecord;
}

/** Fields stored as JSON. */
type JsonField = "models" | "tpmLimits" | "tags" | "accountTpmLimits" | "accountTags";

export interface KeyRow
  extends Omit<KeyRecord, JsonField | "caps" | "isPostpaid" | "isClosed" | "tools" | "userHeaders"> {
  readonly no: number;
  readonly accountNo: number;
  readonly isPostpaid: number | boolean;
  readonly isClosed: number | boolean;
  readonly tools: number;
  readonly userHeaders: number;
  readonly caps: string | null;
  readonly models: string | null;
  readonly tpmLimits: string | null;
  readonly tags: string | null;
  readonly accountTpmLimits: string | null;
  readonly accountTags: string | null;
}

const selected = (table: KeyAttribute["table"], columns: readonly KeyColumn[]) =>
  columns.map(
    ({ field, column, type }) => `${table}.${column}${type === "int8" ? "::float8" : ""} AS "${field}"`,
  );

const termColumns = [...selected("keys", keyColumns), ...selected("accounts", accountTerms)];

export const selectKeys = `
SELECT keys.no, keys.account_no AS "accountNo", keys.id, accounts.id AS "accountId", accounts.mode,
  accounts.is_open AS "isPostpaid", accounts.closed_at_ms IS NOT NULL AS "isClosed", accounts.account_content AS "accountContent",
  accounts.account_tags AS "accountTags", accounts.account_tpm_limits AS "accountTpmLimits",
  ${selectCaps("keys")} AS "caps",
  keys.created_at_ms::float8 AS "createdAtMs", ${termColumns.join(", ")}
FROM keys JOIN accounts ON accounts.no = keys.account_no`;

export function keyFromRow({ no, accountNo, caps, isPostpaid, isClosed, ...row }: KeyRow): NumberedKey {
  return {
    no,
    accountNo,
    key: {
      ...row,
      models: parsed<string[]>(row.models),
      tpmLimits: parsed<TpmLimit[]>(row.tpmLimits),
      tags: parsed<Tags>(row.tags),
      accountTpmLimits: parsed<TpmLimit[]>(row.accountTpmLimits),
      accountTags: parsed<Tags>(row.accountTags),
      caps: capsFrom(caps),
      isPostpaid: Boolean(isPostpaid),
      isClosed: Boolean(isClosed),
      tools: row.tools === 1,
      userHeaders: row.userHeaders === 1,
    },
  };
}

/** Parses a JSON column that was written from a value of this type. */
export function parsed<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value);
}
