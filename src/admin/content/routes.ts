import { type Static, Type } from "@sinclair/typebox";
import { plural } from "../../base/text/plural.ts";
import type { RecordedDocument } from "../../content/archive.ts";
import type { ContentPlace } from "../../store/content-store.ts";
import { OperationError } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError, answerHeaders } from "../formats/admin-error.ts";
import { oneOf, pageOf, text, when } from "../formats/shapes.ts";
import { findKey } from "../key-terms/find-key.ts";
import { exactMoment, momentOf } from "../moments.ts";
import { requestedLabels } from "../requests/find-exchanges.ts";
import { keyFilter, requestFilters, requestOutcomes } from "../requests/schema.ts";
import { writeAudit } from "../routes/mount.ts";
import { type AdminCall, type AdminRoute, deleteRoute, get } from "../routes/route.ts";
import { type ContentExport, deleteContent, exportContent, filterText, listedDocument } from "./content.ts";
import { contentExportView, contentView, deletedContentView, listedContentView } from "./schema.ts";
import { withConversation } from "./with-conversation.ts";

const owner = Type.Optional(text("The owner of the key."));

const filters = {
  key: keyFilter,
  model: Type.Optional(Type.String()),
  outcome: Type.Optional(oneOf(requestOutcomes)),
  since: Type.Optional(when),
  until: Type.Optional(when),
};

const listQuery = Type.Object({
  ...filters,
  owner,
  cursor: Type.Optional(
    Type.String({ pattern: "^\\d{1,15}\\.\\w{1,40}$", description: "`next_cursor` of the previous page." }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
});

const exportQuery = Type.Object({
  ...filters,
  search: Type.Optional(Type.String({ maxLength: 200 })),
  provider: Type.Optional(Type.String()),
  route: Type.Optional(Type.String()),
  ...requestFilters,
});

const deleteQuery = Type.Object({
  ids: Type.Optional(text("Ids of requests, separated by commas.")),
  key: keyFilter,
  owner,
  before: Type.Optional(when),
});

/** Recorded requests and responses. Every read is a line in the audit log. */
export const contentRoutes: readonly AdminRoute[] = [
  get(
    "/requests/:id/content",
    "Show the recorded content of a request",
    {
      role: "admin",
      roleIn: ({ content }) => (content?.membersSeeOwn === true ? "member" : null),
      answers: contentView,
      limitedAs: "documents",
    },
    async (call) => {
      const { deps, caller, named: id } = call;
      if (caller.role === "viewer" && caller.owner === null)
        throw new AdminError(403, "role_needed", "Viewers cannot read content. This needs the role `admin`.");
      if (caller.role !== "admin" && !(await isOwn(call, id))) throw nothingRecorded(id);
      const document = await recorded(deps).read(id);
      if (document === null) throw nothingRecorded(id);
      await writeAudit(call, { action: "content.read", target: id, detail: null });
      return new Response((await shown(deps, document)) as Uint8Array<ArrayBuffer>, {
        headers: answerHeaders({ "content-type": "application/json" }),
      });
    },
  ),
  deleteRoute(
    "/requests/:id/content",
    "Delete the recorded content of a request",
    { answers: deletedContentView },
    async ({ deps, named: id }) => {
      const deleted = await recorded(deps).delete({ ids: [id] });
      if (deleted === 0) throw nothingRecorded(id);
      return { answer: { deleted }, change: { action: "content.delete", target: id, detail: "1 request" } };
    },
  ),
  get(
    "/content",
    "List requests with recorded content, newest first",
    { role: "admin", query: listQuery, answers: pageOf(listedContentView) },
    async ({ deps, query: { cursor, limit, key: keyName, since, until, ...rest } }) => {
      const nowMs = deps.clock.wallMs();
      const [sinceMs, beforeMs] = [momentOf(since, nowMs), momentOf(until, nowMs)];
      const keyIds = keyName === undefined ? undefined : [(await findKey(deps, keyName)).id];
      const page = { ...rest, keyIds, sinceMs, beforeMs, limit, after: placeOf(cursor) };
      const rows = await recorded(deps).list(page);
      const last = rows.length < limit ? undefined : rows.at(-1);
      return {
        data: rows.map((row) => listedDocument(row, (id) => deps.keys.byId(id) ?? null)),
        next_cursor: last === undefined ? null : `${last.atMs}.${last.id}`,
      };
    },
  ),
  get(
    "/content/export",
    "Export recorded content, newest first, as JSON lines",
    { role: "admin", query: exportQuery, answers: contentExportView },
    async (call) => {
      const { deps, query } = call;
      const { key: keyName, since, until, user, session, agent, batch, tag, ...rest } = query;
      const nowMs = deps.clock.wallMs();
      const keyId = keyName === undefined ? undefined : (await findKey(deps, keyName)).id;
      const labels = requestedLabels({ user, session, agent, batch, tag });
      const [sinceMs, untilMs] = [momentOf(since, nowMs), momentOf(until, nowMs)];
      return exportResponse(call, { ...rest, keyId, labels, sinceMs, untilMs });
    },
  ),
  deleteRoute(
    "/content",
    "Delete recorded content by request, key, owner or time",
    { query: deleteQuery, answers: deletedContentView },
    async ({ deps, query }) => {
      // The schema above has checked it.
      const { before, ids: named, ...filters } = query as Static<typeof deleteQuery>;
      const ids = named?.split(",") ?? [];
      const beforeMs = before === undefined ? null : exactMoment(before, deps.clock.wallMs());
      const filter = { ids, ...filters, beforeMs: beforeMs ?? undefined };
      const deleted = await deleteContent(deps, recorded(deps), filter);
      const detail = `${plural(deleted, "request")}: ${filterText(filter)}`;
      const target = ids.length === 1 ? (ids[0] ?? null) : null;
      return { answer: { deleted }, change: { action: "content.delete", target, detail } };
    },
  ),
];

function recorded({ content }: AdminDeps): NonNullable<AdminDeps["content"]> {
  if (content !== null) return content;
  const how = "to record some, or to use what was recorded before, add [content] to the configuration";
  throw new OperationError("not_found", `there is no recorded content; ${how}`);
}

function nothingRecorded(id: string): OperationError {
  return new OperationError(
    "not_found",
    `no content is recorded for ${id}: it was not recorded, was deleted or has expired`,
  );
}

/**
 * Whether it is a request of the caller's own key. Others look like requests that do not exist. The key may have another
 * owner now, so the owner at the time of the request counts.
 */
async function isOwn({ deps, caller }: AdminCall, id: string): Promise<boolean> {
  const [row] = await recorded(deps).list({ ids: [id], limit: 1 });
  return row !== undefined && caller.owns({ id: row.keyId, owner: row.owner });
}

function shown(deps: AdminDeps, document: RecordedDocument): Promise<Uint8Array> {
  return withConversation(document, {
    storedBefore: deps.storedBefore,
    clean: recorded(deps).clean,
    maxBytes: deps.settings().content?.maxRequestBytes ?? 0,
  });
}

function placeOf(cursor: string | undefined): ContentPlace | undefined {
  const [, atMs, id] = /^(\d+)\.(\w+)$/.exec(cursor ?? "") ?? [];
  return atMs === undefined || id === undefined ? undefined : { atMs: Number(atMs), id };
}

/**
 * Exports as a stream. The audit log gets a line with the filter before the first byte, and one with the number of
 * requests at the end, however it ends.
 */
async function exportResponse(call: AdminCall, filter: ContentExport): Promise<Response> {
  await writeAudit(call, { action: "content.export", target: null, detail: filterText(filter) });
  const pages = exportContent(call.deps, recorded(call.deps), filter);
  let exported = 0;
  const audit = () => {
    const detail = `${plural(exported, "request")}: ${filterText(filter)}`;
    return writeAudit(call, { action: "content.exported", target: null, detail });
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pages.next();
      if (next.done === true) {
        await audit();
        controller.close();
        return;
      }
      exported += next.value.count;
      controller.enqueue(next.value.lines);
    },
    async cancel() {
      await pages.return(undefined);
      await audit();
    },
  });
  const headers = answerHeaders({ "content-type": "application/jsonl; charset=utf-8" });
  return new Response(body, { headers });
}
