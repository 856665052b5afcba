import type { ExportedPage } from "../../content/archive.ts";
import type { ArchiveCalls } from "../../content/thread-messages.ts";
import type { ContentFilter, ContentPlace, ListedContent } from "../../store/content-store.ts";
import type { ExchangeQuery, KeyRecord } from "../../store/store.ts";
import { invalidInput, type OperationContext } from "../context.ts";
import { findKey } from "../key-terms/find-key.ts";
import { iso } from "../moments.ts";
import { searchExchanges } from "../requests/find-exchanges.ts";
import type { ListedContentView } from "./schema.ts";

/** Documents can have several megabytes each. */
const documentsPerPage = 10;
const rowsPerPage = 500;

/** The filters of an export, the same as for the list of requests. */
export type ContentExport = Omit<ExchangeQuery, "limit" | "cursor">;

/** Pages of JSON lines, the newest first, for evaluations and fine-tuning. */
export async function* exportContent(
  { store }: OperationContext,
  archive: Pick<ArchiveCalls, "exportLines">,
  filter: ContentExport,
): AsyncGenerator<ExportedPage> {
  if (isKnownToContent(filter)) {
    yield* exportPages(archive, contentFilter(filter));
    return;
  }
  // Other filters, such as provider, labels and errors, need the request log.
  for (let cursor: string | undefined; ; ) {
    const { rows, next } = await searchExchanges(store, { ...filter, limit: rowsPerPage, cursor });
    const ids = rows.map(({ exchangeId }) => exchangeId);
    if (ids.length > 0) yield* exportPages(archive, { ids });
    if (next === null) return;
    cursor = next;
  }
}

/** Whether the fields stored with the content are enough for this filter. */
function isKnownToContent({ search, code, provider, route, labels = {} }: ContentExport): boolean {
  return (
    [search, code, provider, route].every((each) => each === undefined) && Object.keys(labels).length === 0
  );
}

function contentFilter({ keyId, model, outcome, sinceMs, untilMs }: ContentExport): ContentFilter {
  return { ...(keyId === undefined ? {} : { keyIds: [keyId] }), model, outcome, sinceMs, beforeMs: untilMs };
}

async function* exportPages(
  archive: Pick<ArchiveCalls, "exportLines">,
  filter: ContentFilter,
): AsyncGenerator<ExportedPage> {
  for (let after: ContentPlace | undefined; ; ) {
    const page = await archive.exportLines({ ...filter, limit: documentsPerPage, after });
    if (page.count > 0) yield page;
    if (page.next === null) return;
    after = page.next;
  }
}

export function listedDocument(
  row: ListedContent,
  keyOf: (id: string) => KeyRecord | null,
): ListedContentView {
  const { id, atMs, keyId, owner, model, outcome, bytes } = row;
  const key = keyOf(keyId)?.prefix ?? keyId;
  return { id, time: iso(atMs), model: model || null, key, owner, outcome, bytes };
}

/** Selects the content to delete. */
export interface NamedContent {
  readonly ids?: readonly string[] | undefined;
  readonly key?: string | undefined;
  readonly owner?: string | undefined;
  readonly beforeMs?: number | undefined;
}

/** Deletes content and returns how many requests had any. At least one field must be set, and an id must exist. */
export async function deleteContent(
  context: OperationContext,
  archive: Pick<ArchiveCalls, "delete" | "list">,
  { ids = [], key, owner, beforeMs }: NamedContent,
): Promise<number> {
  if (ids.length === 0 && key === undefined && owner === undefined && beforeMs === undefined)
    throw invalidInput("nothing to delete; pass a key, an owner, a time or request ids");
  if (ids.length > 0) await rejectUnknown(archive, ids);
  const common: ContentFilter = { ...(ids.length === 0 ? {} : { ids }), beforeMs };
  const keyIds = key === undefined ? undefined : [(await findKey(context, key)).id];
  if (owner === undefined) return archive.delete({ ...common, keyIds });
  const asRecorded = await archive.delete({ ...common, keyIds, owner });
  // The owner of a key may have been set after the request.
  const owned = await keysOf(context, owner);
  const others = keyIds === undefined ? owned : owned.filter((id) => keyIds.includes(id));
  return asRecorded + (others.length === 0 ? 0 : await archive.delete({ ...common, keyIds: others }));
}

async function rejectUnknown(archive: Pick<ArchiveCalls, "list">, ids: readonly string[]): Promise<void> {
  const found = new Set((await archive.list({ ids, limit: ids.length })).map(({ id }) => id));
  const unknown = ids.filter((id) => !found.has(id));
  if (unknown.length > 0)
    throw invalidInput(`no content is recorded for ${unknown.slice(0, 5).join(", ")}; nothing was deleted`);
}

async function keysOf({ store }: OperationContext, owner: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { keys, nextCursor } = await store.listKeys({ search: owner, limit: rowsPerPage, cursor });
    found.push(...keys.filter((key) => key.owner === owner).map(({ id }) => id));
    if (nextCursor === null) return found;
    cursor = nextCursor;
  }
}

/** The filter for the audit log, without unset fields. */
export function filterText(filter: object): string {
  const parts = Object.entries(filter).flatMap(([name, value]) => {
    if (value === undefined || (typeof value === "object" && Object.keys(value).length === 0)) return [];
    const text = /Ms$/.test(name) ? new Date(Number(value)).toISOString() : valueText(value);
    return [`${name.replace(/Ms$/, "")} ${text}`];
  });
  return parts.join(", ").slice(0, 500) || "all";
}

function valueText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
