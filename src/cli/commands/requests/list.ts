import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { count, shortCredits } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import type { RequestOutcome } from "../../../store/store.ts";
import { atLeastOne } from "../../arguments.ts";
import { chosenTime, timeText } from "../../chosen-time.ts";
import { option } from "../../help.ts";
import { list } from "../../operations/operation-command.ts";
import { csvOnly, type ListColumn, timeColumn } from "../../terminal/list.ts";
import type { Style } from "../../terminal/style.ts";
import { second, span, type Terminal } from "../../terminal/terminal.ts";
import { filterQuery, type RequestFilters, requestFilters } from "./filters.ts";

const defaultLimit = 50;

export const requestsListCommand = list<ExchangeView, RequestFilters, { limit?: number }>({
  name: "list",
  summary: "List requests, newest first, with their outcome",
  call: "GET /requests",
  fields: requestFilters,
  extras: { limit: option("--limit <n>", `maximum number of rows (default: ${defaultLimit})`, atLeastOne) },
  examples: [
    ["sluice requests list --outcome failed --since 1h", "current failures"],
    ["sluice requests list --since 2026-11-15T03:00 --until 2026-11-15T03:15", "a time range"],
    ["sluice requests list --key slu_8fK2mQ0x --code rate_limit_exceeded", "rate-limited requests of a key"],
    ["sluice requests show req_0f3K9xTz", "explain one of them"],
  ],
  input: ({ limit: _, ...filters }, { nowMs }) => filterQuery(filters, nowMs),
  limit: defaultLimit,
  columns: (_, { terminal }) => columnsOf(terminal),
  nothing: ({ given, nowMs }) => `No matching requests ${timeText(chosenTime(given, nowMs))}.`,
  after(rows, { given: { limit = defaultLimit }, terminal }, isTable) {
    if (!isTable || rows.length < limit) return;
    terminal.note(terminal.noteStyle.dim(`Showing the newest ${count(limit)}; pass --limit for more.`));
  },
});

function columnsOf({ style }: Terminal): readonly ListColumn<ExchangeView>[] {
  const none = style.dim("–");
  const right = { align: "right" } as const;
  return [
    timeColumn("ended_at", "ENDED", second),
    { name: "at" },
    { name: "id", title: "REQUEST" },
    ...csvOnly("key_id", "key_prefix"),
    { name: "key_label", title: "KEY", elastic: true, cell: (row) => row.key_label ?? row.key_prefix },
    { name: "route" },
    { name: "model", title: "MODEL", elastic: true, cell: (row) => row.model || unknownModel(row, style) },
    { name: "provider", title: "PROVIDER", elastic: true, cell: ({ provider }) => provider || none },
    ...csvOnly("upstream_model", "stream"),
    {
      name: "outcome",
      title: "OUTCOME",
      cell: ({ outcome, alike }) =>
        paintOutcome(outcome, style) + (alike === 0 ? "" : style.dim(` ×${count(alike + 1)}`)),
    },
    { name: "alike" },
    {
      name: "status",
      title: "STATUS",
      ...right,
      cell: ({ status }) => (status === null ? none : String(status)),
    },
    { name: "code", title: "CODE", cell: ({ code }) => code ?? none },
    ...csvOnly(
      "message",
      "input_tokens",
      "cached_input_tokens",
      "cache_write_tokens",
      "output_tokens",
      "reasoning_tokens",
    ),
    { name: "charged", title: "CHARGED", ...right, cell: (row) => (row.charged === 0 ? none : charged(row)) },
    ...csvOnly("unit", "basis", "list_cost", "first_byte_ms"),
    {
      name: "total_ms",
      title: "TOOK",
      ...right,
      cell: ({ total_ms: ms }) => (ms === null ? none : span(ms)),
    },
    ...csvOnly("attempts", "user", "session", "agent", "parent_agent", "batch"),
    {
      name: "tags",
      value: ({ tags }) =>
        Object.entries(tags)
          .map((tag) => tag.join("="))
          .join(" "),
    },
  ];
}

/** In quotation marks: the name came from the client and is not configured. */
function unknownModel({ unknown_model: name }: ExchangeView, style: Style): string {
  return style.dim(name === null ? "–" : `"${printable(name)}"`);
}

function charged({ charged: amount, unit }: ExchangeView): string {
  return unit === "credits" ? `${shortCredits(amount)} cr` : `${count(amount)} tok`;
}

export function paintOutcome(outcome: RequestOutcome, style: Style): string {
  if (outcome === "completed") return style.good(outcome);
  return outcome === "failed" ? style.bad(outcome) : style.warn(outcome);
}
