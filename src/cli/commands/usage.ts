import { InvalidArgumentError, Option } from "commander";
import type { AccountView } from "../../admin/accounts/schema.ts";
import type { KeyView } from "../../admin/key-terms/schema.ts";
import type { ChosenRange } from "../../admin/moments.ts";
import type { UsageRowView, UsageTotalsView, UsageView } from "../../admin/reports/schema.ts";
import { dimensionText, readDimensions } from "../../admin/reports/usage-report.ts";
import { count, plural, shortCredits } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import { dimensionNames } from "../../store/store.ts";
import { chosenTime, rangeQuery, type TimeOptions, timeFields, timeText } from "../chosen-time.ts";
import { option } from "../help.ts";
import type { OperationClient } from "../operations/client.ts";
import { operation } from "../operations/operation-command.ts";
import { csvOf, type ListColumn, listTable } from "../terminal/list.ts";
import { creditsShown, span, type Terminal } from "../terminal/terminal.ts";

interface Fields extends TimeOptions {
  readonly key?: string;
  readonly account?: string;
  readonly by: readonly string[];
  readonly as?: string;
}

export const usageCommand = operation<UsageView, Fields>({
  name: "usage",
  summary: "Report requests, tokens and cost",
  call: "GET /usage",
  fields: {
    key: option("--key <key>", "only this key, by id, prefix or label"),
    account: option("--account <account>", "only what was billed to this account"),
    ...timeFields,
    by: new Option(
      "--by <what>",
      `group by: ${dimensionNames.join(", ")}; several with commas (default: day)`,
    )
      .choices(dimensionNames)
      .argParser(dimensions)
      .default(["day"]),
    as: option("--as <model>", "also show what the requests would have cost on this model"),
  },
  examples: [
    ["sluice usage", "the last week, day by day"],
    ["sluice usage --by model --since 30d", "the last month, model by model"],
    ["sluice usage --by key,model --since 2026-10 --until 2026-11", "what each key used in October"],
    ["sluice usage --by month,owner --since 2026-01 --csv", "who spent what, for a spreadsheet"],
    ["sluice usage --since 30d --as gpt-5-mini", "what the last month would have cost on that model"],
    ["sluice usage --by hour --since 24h --key slu_8fK2mQ0x", "one key's last day"],
  ],
  input: ({ by, key, account, as, ...range }, { nowMs }) => ({
    by: by.join(","),
    ...rangeQuery(chosenTime(range, nowMs)),
    key,
    account,
    as,
  }),
  async whole(first, input, client) {
    let report = first;
    while (report.next_cursor != null) {
      const next = await client.page<UsageView>("/usage", { ...input, cursor: report.next_cursor });
      report = { ...next, data: [...report.data, ...next.data] };
    }
    return report;
  },
  csv: (document, { given: { by }, terminal }) =>
    csvOf(columnsOf(by, document, terminal, String), document.data),
  async show(document, { given, nowMs, client, terminal }) {
    const range = chosenTime(given, nowMs);
    if (document.data.length === 0) return terminal.print(`No usage ${timeText(range)}.`);
    const names = await readNames(client, given.by);
    const nameOf = (value: string | null) => names.get(value ?? "") ?? value ?? "none";
    terminal.print(asTable(document, columnsOf(given.by, document, terminal, nameOf), range, terminal));
  },
});

/** The names of keys and accounts by their ids, keys with their prefixes, if the report is grouped by them. */
async function readNames(
  client: OperationClient,
  by: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { id, label } of by.includes("account") ? await client.list<AccountView>("/accounts") : []) {
    if (label !== null) names.set(id, label);
  }
  for (const { id, label, prefix } of by.includes("key") ? await client.list<KeyView>("/keys") : []) {
    names.set(id, label === null ? prefix : `${prefix} ${label}`);
  }
  return names;
}

function dimensions(text: string): readonly string[] {
  const names = readDimensions(text);
  if (names === null) throw new InvalidArgumentError(`It is ${dimensionText}.`);
  return names;
}

/** All columns. The table omits those that are empty on most gateways, unless they have a value. */
function columnsOf(
  by: readonly string[],
  { total }: UsageView,
  { style }: Terminal,
  nameOf: (value: string | null) => string,
): readonly ListColumn<UsageRowView>[] {
  const warned = (value: number) => (value === 0 ? style.dim("0") : style.warn(count(value)));
  const figure = (
    name: keyof UsageTotalsView,
    title?: string,
    shown: (value: number, row: UsageRowView) => string = count,
  ): ListColumn<UsageRowView> => ({
    name,
    align: "right",
    cell: (row) => (row[name] === null ? "–" : shown(row[name], row)),
    ...(title === undefined ? {} : { title }),
  });
  return [
    ...by.map((name): ListColumn<UsageRowView> => ({ name, value: ({ groups }) => groups?.[name] })),
    {
      name: "name",
      title: by.join(", ").toUpperCase(),
      elastic: true,
      cell: ({ name, groups }) =>
        printable(groups === undefined ? name : Object.values(groups).map(nameOf).join(", ")),
    },
    figure("recorded_requests", "REQUESTS"),
    figure("completed"),
    figure("failed", "FAILED", warned),
    figure("rejected", total.rejected > 0 ? "REJECTED" : undefined, warned),
    figure("cancelled"),
    figure("interrupted"),
    figure("input_tokens", "INPUT"),
    figure("cached_input_tokens", "CACHED", cached),
    figure("cached_input_share"),
    figure("output_tokens", "OUTPUT"),
    figure("spend", "SPEND", (amount) => shortCredits(amount)),
    figure("cancelled_spend"),
    figure("interrupted_spend"),
    figure("spend_tokens"),
    figure("list_cost", total.list_cost > 0 ? "LIST COST" : undefined, (amount) => shortCredits(amount)),
    figure("cache_savings"),
    figure("overrun", total.overrun > 0 ? "OVERRUN" : undefined, (amount) => shortCredits(amount)),
    figure("overrun_tokens"),
    figure("recovered_attempts"),
    figure("average_first_byte_ms", "AVG FIRST BYTE", span),
    figure("average_total_ms"),
  ];
}

function asTable(
  { data, total, ...rest }: UsageView,
  columns: readonly ListColumn<UsageRowView>[],
  range: ChosenRange,
  terminal: Terminal,
): string {
  const time = `${timeText(range).replace("from", "From")}.`;
  return [
    listTable(columns, data, terminal, { group: null, name: "total", ...total }),
    ...[time, ...notes(total), ...comparisonNotes(rest)].map(terminal.style.dim),
  ].join("\n");
}

/** Number of tokens read from a cache, and their share of the input. */
function cached(tokens: number, { cached_input_share: share }: UsageRowView): string {
  return share === null || share === 0 ? "0" : `${count(tokens)} (${Math.round(share * 100)} %)`;
}

/** What the requests would have cost on another model, and how many cannot be compared with it. */
function comparisonNotes({
  as_model: model,
  as_spend: spend = 0,
  compared_spend: own = 0,
  compared_requests: requests = 0,
  not_comparable: others = [],
}: Partial<UsageView>): string[] {
  if (model === undefined) return [];
  const compared = `${plural(requests, "charged request")}, which cost ${creditsShown(own)} credits, would have cost ${creditsShown(spend)} on ${model}.`;
  const rest = others.map(
    (each) =>
      `${plural(each.requests, "request")} cannot be compared: ${model} has no price for this (${each.reason}).`,
  );
  return [compared, ...rest];
}

/** Notes on what the columns cannot show. */
function notes(total: UsageTotalsView): string[] {
  const lines: string[] = [];
  if (total.cancelled > 0) {
    const calls = plural(total.cancelled, "cancelled request");
    lines.push(
      `SPEND includes ${creditsShown(total.cancelled_spend)} credits for ${calls}, which REQUESTS does not count.`,
    );
  }
  if (total.interrupted > 0) {
    const calls = plural(total.interrupted, "interrupted request");
    lines.push(
      `SPEND includes ${creditsShown(total.interrupted_spend)} credits for ${calls}, which REQUESTS does not count.`,
    );
  }
  if (total.recovered_attempts > 0) {
    const attempts = plural(total.recovered_attempts, "attempt");
    lines.push(`${attempts} failed and were recovered by retry or failover.`);
  }
  if (total.cache_savings > 0) {
    lines.push(`Cached input saved ${creditsShown(total.cache_savings)} credits.`);
  }
  if (total.overrun > 0) {
    lines.push("OVERRUN is cost above holds, prepaid balances or caps. It is not charged.");
  }
  if (total.overrun_tokens > 0) {
    lines.push(`${count(total.overrun_tokens)} tokens above holds and budgets were not charged.`);
  }
  if (total.list_cost > 0) {
    lines.push("LIST COST is the usage of token-budget keys at list price. It is not charged.");
  }
  return lines;
}
