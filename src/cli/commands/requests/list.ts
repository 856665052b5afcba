import type { Command } from "commander";
import type { OperationContext } from "../../../admin/context.ts";
import { requestedLabels, searchExchanges } from "../../../admin/requests/find-exchanges.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { count, shortCredits } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import type { ExchangeQuery, ListedExchange, RequestOutcome } from "../../../store/store.ts";
import { atLeastOne } from "../../arguments.ts";
import { chosenTime, timeText } from "../../chosen-time.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { csvOnly, type ListColumn, printList } from "../../terminal/list.ts";
import type { Style } from "../../terminal/style.ts";
import { second, span, type Terminal } from "../../terminal/terminal.ts";
import { type RequestFilters, withRequestFilters } from "./filters.ts";

interface Options extends DataOptions, CsvOption, RequestFilters {
  readonly limit?: number;
}

const defaultLimit = 50;
const rowsPerPage = 500;

export function requestsListCommand(terminal: Terminal): Command {
  return withRequestFilters(
    withCsv(newDataCommand("list", "List requests, newest first, with their outcome")),
  )
    .option("--limit <n>", `maximum number of rows (default: ${defaultLimit})`, atLeastOne)
    .examples(
      ["sluice requests list --outcome failed --since 1h", "current failures"],
      ["sluice requests list --since 2026-11-15T03:00 --until 2026-11-15T03:15", "a time range"],
      [
        "sluice requests list --key slu_8fK2mQ0x --code rate_limit_exceeded",
        "rate-limited requests of a key",
      ],
      ["sluice requests show req_0f3K9xTz", "explain one of them"],
    )
    .action(async (options: Options) => {
      const { findKey } = await import("../../../admin/keys/find-key.ts");
      const { exchangeDocument } = await import("../../../admin/requests/exchange-document.ts");
      await withStore(terminal, options, {}, async (context) => {
        const keyId = options.key === undefined ? undefined : (await findKey(context, options.key)).id;
        const { sinceMs, untilMs } = chosenTime(options, context.clock.wallMs());
        const { limit = defaultLimit } = options;
        const labels = requestedLabels(options);
        const rows = await collect(context, { ...options, keyId, labels, sinceMs, untilMs, limit });
        const keyIds = new Set(rows.map((row) => row.keyId));
        const keys = new Map(
          await Array.fromAsync(keyIds, async (id) => [id, await context.store.findKey(id)] as const),
        );
        const views = rows.map((row) => exchangeDocument(row, (id) => keys.get(id) ?? null));
        const nothing = `No matching requests ${timeText({ sinceMs, untilMs })}.`;
        const list = { rows: views, columns: columnsOf(terminal), nothing };
        const isTable = printList(list, options, terminal);
        const more = `Showing the newest ${count(limit)}; pass --limit for more.`;
        if (isTable && rows.length === limit) terminal.note(terminal.noteStyle.dim(more));
      });
    });
}

/** In the gateway a search stops early rather than block requests; here it may take its time. */
async function collect({ store }: OperationContext, query: ExchangeQuery): Promise<ListedExchange[]> {
  const rows: ListedExchange[] = [];
  for (let cursor: string | undefined; rows.length < query.limit; ) {
    const limit = Math.min(rowsPerPage, query.limit - rows.length);
    const page = await searchExchanges(store, { ...query, limit, cursor });
    rows.push(...page.rows);
    if (page.next === null) break;
    cursor = page.next;
  }
  return rows;
}

function columnsOf({ style }: Terminal): readonly ListColumn<ExchangeView>[] {
  const none = style.dim("–");
  const right = { align: "right" } as const;
  return [
    { name: "ended_at", title: "ENDED", cell: ({ ended_at: at }) => second(Date.parse(at)) },
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
    ...csvOnly("attempts", "user", "session"),
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
