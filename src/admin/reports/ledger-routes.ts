import { type Static, Type } from "@sinclair/typebox";
import { type Anchor, anchorText } from "../../base/money/anchor.ts";
import { expectedText } from "../../base/text/schema-text.ts";
import { anchorAll } from "../../ledger/anchors.ts";
import { answerHeaders } from "../formats/admin-error.ts";
import { body, count, counted, flag, nullable, oneOf, text, when } from "../formats/shapes.ts";
import { iso, momentOf } from "../moments.ts";
import { keyFilter } from "../requests/schema.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { auditLedger, differenceDocument, keptExample, keptPattern } from "./audit-ledger.ts";
import { exportFormats, exportLedger } from "./export-ledger.ts";

const differenceView = Type.Object({
  key_id: nullable(Type.String()),
  where: text("Such as `entry 12`, or a total."),
  field: Type.String(),
  kept: Type.Union([Type.Number(), Type.String()]),
  recomputed: Type.Union([Type.Number(), Type.String()]),
});
export type DifferenceView = Static<typeof differenceView>;

const anchorView = Type.Object({
  anchor: text("Keep it: `kept` of a later audit takes it."),
  at: when,
  through: Type.Integer({ description: "The id of the newest entry that it covers." }),
  entries: counted("Entries that it covers."),
});
export type AnchorView = Static<typeof anchorView>;

function anchorDocument(anchor: Anchor): AnchorView {
  const { atMs, throughId: through, entries } = anchor;
  return { anchor: anchorText(anchor), at: iso(atMs), through, entries };
}

const ledgerAuditView = Type.Object({
  ok: flag("Nothing differs."),
  accounts: count,
  entries: count,
  differences: Type.Array(differenceView),
  anchor: nullable(anchorView),
});
export type LedgerAuditView = Static<typeof ledgerAuditView>;

const exportQuery = Type.Object({
  format: oneOf(exportFormats, "csv"),
  key: keyFilter,
  since: Type.Optional(when),
  until: Type.Optional(when),
});

const kept = Type.String({
  pattern: keptPattern,
  description:
    "An anchor, the last entry of a statement, or a cursor of the feed. If the ledger no longer has it, that is a difference.",
  [expectedText]: `such as ${keptExample}`,
});

export const ledgerRoutes: readonly AdminRoute[] = [
  post(
    "/ledger/audit",
    "Recompute every charge and every total, and report differences",
    {
      role: "viewer",
      body: body({
        deep: Type.Optional(flag("Also check the times of every request.")),
        kept: Type.Optional(kept),
      }),
      answers: ledgerAuditView,
      limitedAs: "reports",
    },
    async ({ deps, request: { signal }, report: progress, body: { deep = false, kept } }) => {
      const { accounts, entries, ...report } = await auditLedger(
        deps,
        { deep, signal, report: progress },
        kept,
      );
      const differences = report.differences.map(differenceDocument);
      const anchor = report.anchor && anchorDocument(report.anchor);
      return {
        answer: { ok: differences.length === 0, accounts, entries, differences, anchor },
        change: null,
      };
    },
  ),
  post(
    "/ledger/anchor",
    "Join all entries so far by one hash, to be kept",
    {
      body: body({
        accept_unhashed: Type.Optional(
          flag(
            "Also anchor entries without a hash that follow others with one, as an older release writes them.",
          ),
        ),
      }),
      answers: Type.Object({ anchor: nullable(anchorView) }),
      limitedAs: "reports",
    },
    async ({ deps, body: { accept_unhashed = false } }) => {
      const anchor = await anchorAll(deps, accept_unhashed);
      const answer = { anchor: anchor && anchorDocument(anchor) };
      return {
        answer,
        change: anchor && { action: "ledger.anchor", target: anchorText(anchor), detail: null },
      };
    },
  ),
  get(
    "/ledger/export",
    "Export the ledger's entries, oldest first, as CSV, JSON lines or FOCUS",
    { query: exportQuery, answers: text("One entry per line; with `format=focus` one price of a charge.") },
    async ({ deps, query: { format, key, since, until } }) => {
      const nowMs = deps.clock.wallMs();
      const range = { sinceMs: momentOf(since, nowMs), untilMs: momentOf(until, nowMs) };
      const { microUsdPerCredit } = deps.settings();
      const chunks = exportLedger(deps, { format, key, ...range, microUsdPerCredit });
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
