import { type AttributeKind, type KeyAttribute, keyAttributeList } from "../base/key-attributes.ts";
import type { KeyRecord } from "./records.ts";

/** `json` is text, too. */
type KeyColumnType = "text" | "json" | "int" | "int8";

/** Where a field of a key's record is kept, in every database. */
export interface KeyColumn {
  readonly field: keyof KeyRecord;
  readonly column: string;
  readonly type: KeyColumnType;
}

const attributeTypes: Readonly<Record<AttributeKind, KeyColumnType>> = {
  text: "text",
  provider: "text",
  models: "json",
  positive: "int",
  count: "int8",
  period: "text",
  moment: "int8",
};

/** The columns of `keys` that may change. */
export const keyColumns: readonly KeyColumn[] = [
  { field: "hash", column: "hash", type: "text" },
  { field: "prefix", column: "prefix", type: "text" },
  { field: "status", column: "status", type: "text" },
  { field: "previousHash", column: "previous_hash", type: "text" },
  { field: "previousUntilMs", column: "previous_until_ms", type: "int8" },
  ...attributeColumns("keys"),
];

/** The columns of `accounts` that a key's record shows and changes. */
export const accountTerms: readonly KeyColumn[] = attributeColumns("accounts");

function attributeColumns(table: KeyAttribute["table"]): KeyColumn[] {
  const attributes = keyAttributeList.filter((attribute) => attribute.table === table);
  return attributes.map(({ field, column, kind }) => ({ field, column, type: attributeTypes[kind] }));
}

/** As a list in SQL. */
export function columnNames(columns: readonly KeyColumn[]): string {
  return columns.map(({ column }) => column).join(", ");
}

/** In the order of the columns. */
export function columnValues(columns: readonly KeyColumn[], key: KeyRecord): (string | number | null)[] {
  return columns.map(({ field }) => {
    const value = key[field];
    return value === null || typeof value !== "object" ? value : JSON.stringify(value);
  });
}

/** A key, and the numbers that tables know it and its account by. */
export interface NumberedKey {
  readonly no: number;
  readonly accountNo: number;
  readonly key: KeyRecord;
}

export interface KeyRow extends Omit<KeyRecord, "models"> {
  readonly no: number;
  readonly accountNo: number;
  readonly models: string | null;
}

/** `wide` makes a JavaScript number of a column with 64 bits. */
export function selectKeys(wide: (column: string) => string): string {
  const columns = [...keyColumns, ...accountTerms].map(
    ({ field, column, type }) => `${type === "int8" ? wide(column) : column} AS "${field}"`,
  );
  return `
SELECT keys.no, keys.account_no AS "accountNo", keys.id, accounts.id AS "accountId", mode,
  ${wide("keys.created_at_ms")} AS "createdAtMs", ${columns.join(", ")}
FROM keys JOIN accounts ON accounts.no = keys.account_no`;
}

export function keyFromRow({ no, accountNo, models, ...fields }: KeyRow): NumberedKey {
  return {
    no,
    accountNo,
    key: { ...fields, models: models === null ? null : (JSON.parse(models) as string[]) },
  };
}
