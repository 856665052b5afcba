import type {
  ContentFilter,
  ContentPage,
  ContentRow,
  ContentStore,
  ListedContent,
} from "../content-store.ts";
import { Parameters, type Query } from "../query.ts";
import { first, firstAs } from "./rows.ts";

const shared = 'id, at_ms::float8 AS "atMs", key_id AS "keyId", owner, model, outcome';
const listed = `${shared}, length(body) AS "bytes"`;
const whole = `${shared}, body`;

/** Builds the condition that finds rows by comparing their id, such as `id = $1`. */
export type IdCondition = (comparison: string) => string;

const byIndex: IdCondition = (comparison) => comparison;

/** The reads of recorded content, equal for both databases. */
export function contentReads(
  read: Query,
  byId: IdCondition = byIndex,
): Pick<ContentStore, "read" | "list" | "page" | "readMark"> {
  return {
    read: (id) =>
      read<ContentRow>(`SELECT ${whole} FROM content WHERE ${byId("id = $1::text")}`, [id]).then(first),
    list: (page) => readPage<ListedContent>(read, page, listed, byId),
    page: (page) => readPage<ContentRow>(read, page, whole, byId),
    readMark: () =>
      read<{ value: Uint8Array }>("SELECT value FROM content_mark").then(firstAs(({ value }) => value)),
  };
}

/** Newest first. */
function readPage<Row>(read: Query, page: ContentPage, columns: string, byId: IdCondition): Promise<Row[]> {
  const { after, limit } = page;
  const parameters = new Parameters();
  const where = contentWhere(page, parameters, byId);
  const isAfter =
    after === undefined
      ? ""
      : ` AND (at_ms, id) < (${parameters.add(after.atMs)}, ${parameters.add(after.id)})`;
  const text = `SELECT ${columns} FROM content WHERE ${where}${isAfter} ORDER BY at_ms DESC, id DESC LIMIT ${parameters.add(limit)}`;
  return read<Row>(text, parameters.all);
}

/** The condition of a filter. */
export function contentWhere(filter: ContentFilter, parameters: Parameters, byId = byIndex): string {
  const { ids, keyIds, owner, model, outcome, sinceMs, beforeMs } = filter;
  const conditions = [
    ids === undefined ? null : byId(`id = ANY (${parameters.add(ids)})`),
    condition("key_id = ANY (", keyIds, ")"),
    condition("owner = ", owner),
    condition("model = ", model),
    condition("outcome = ", outcome),
    condition("at_ms >= ", sinceMs),
    condition("at_ms < ", beforeMs),
  ].filter((text) => text !== null);
  return conditions.length === 0 ? "true" : conditions.join(" AND ");

  function condition(start: string, value: string | number | readonly string[] | undefined, end = "") {
    return value === undefined ? null : `${start}${parameters.add(value)}${end}`;
  }
}
