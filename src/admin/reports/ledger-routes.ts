import { type Static, Type } from "@sinclair/typebox";
import { answerHeaders } from "../formats/admin-error.ts";
import { body, count, flag, nullable, oneOf, text, when } from "../formats/shapes.ts";
import { momentOf } from "../moments.ts";
import { keyFilter } from "../requests/schema.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { auditLedger, differenceDocument } from "./audit-ledger.ts";
import { exportFormats, exportLedger } from "./export-ledger.ts";

const differenceView = Type.Object({
  key_id: nullable(Type.String()),
  where: text("Such as `entry 12`, or a total."),
  field: Type.String(),
  kept: Type.Union([Type.Number(), Type.String()]),
  recomputed: Type.Union([Type.Number(), Type.String()]),
});
export type DifferenceView = Static<typeof differenceView>;

const ledgerAuditView = Type.Object({
  ok: flag("Nothing differs."),
  accounts: count,
  entries: count,
  differences: Type.Array(differenceView),
});
export type LedgerAuditView = Static<typeof ledgerAuditView>;

const exportQuery = Type.Object({
  format: oneOf(exportFormats, "csv"),
  key: keyFilter,
  since: Type.Optional(when),
  until: Type.Optional(when),
});

export const ledgerRoutes: readonly AdminRoute[] = [
  post(
    "/ledger/audit",
    "Recompute every charge and every total, and report differences",
    {
      role: "viewer",
      body: body({ deep: Type.Optional(flag("Also check the times of every request.")) }),
      answers: ledgerAuditView,
      limitedAs: "reports",
    },
    async ({ deps, request: { signal }, report, body: { deep = false } }) => {
      const { accounts, entries, differences } = await auditLedger(deps, { deep, signal, report });
      const rows = differences.map(differenceDocument);
      return { answer: { ok: rows.length === 0, accounts, entries, differences: rows }, change: null };
    },
  ),
  get(
    "/ledger/export",
    "Export the ledger's entries, oldest first, as CSV or JSON lines",
    { query: exportQuery, answers: text("One entry per line.") },
    async ({ deps, query: { format, key, since, until } }) => {
      const nowMs = deps.clock.wallMs();
      const range = { sinceMs: momentOf(since, nowMs), untilMs: momentOf(until, nowMs) };
      const chunks = exportLedger(deps, { format, key, ...range });
      // The first chunk is read at once, so that a key that does not exist is an error instead of an export that breaks off.
      const first = await chunks.next();
      const headers = answerHeaders({ "content-type": "text/plain; charset=utf-8" });
      return new Response(asBody(first, chunks), { headers });
    },
  ),
];

/** Reads a chunk when the last one is taken, so that a slow reader neither fills memory nor holds up anything. */
function asBody(first: IteratorResult<string>, chunks: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string> | null = first;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = next ?? (await chunks.next());
      next = null;
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}
