import { type Command, Option } from "commander";
import type { OperationContext } from "../../admin/operations/context.ts";
import type { UsageReport } from "../../admin/operations/usage-report.ts";
import type { FiguresView, UsageView } from "../../admin/views.ts";
import { cachedInputShare, type Figures } from "../../store/store.ts";
import { since } from "../arguments.ts";
import { chosenTime, sinceHelp, timeInWords, untilHelp } from "../chosen-time.ts";
import { type DataOptions, examples, newDataCommand } from "../help.ts";
import { withStore } from "../open-store.ts";
import { count, credits, plural, span } from "../terminal/format.ts";
import { type Column, table } from "../terminal/table.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

type Grouping = "day" | "hour" | "model" | "provider" | "key" | "route";

interface Options extends DataOptions {
  readonly key?: string;
  readonly since?: number;
  readonly until?: number;
  readonly by: Grouping;
}

export function usageCommand(terminal: Terminal): Command {
  return newDataCommand("usage", "Report requests, tokens and cost")
    .option("--key <key>", "only this key, by id, prefix or label")
    .option("--since <when>", sinceHelp, (text) => since(text))
    .option("--until <when>", untilHelp, (text) => since(text))
    .addOption(
      new Option("--by <day|hour|model|provider|key|route>", "one line for each (default: day)")
        .choices(["day", "hour", "model", "provider", "key", "route"])
        .default("day"),
    )
    .addHelpText(
      "after",
      examples(
        ["sluice usage", "the last week, day by day"],
        ["sluice usage --by model --since 30d", "the last month, model by model"],
        ["sluice usage --by key --since 2026-10-01 --until 2026-11-01", "what each key used in October"],
        ["sluice usage --by hour --since 24h --key slu_8fK2mQ0x", "one key's last day"],
      ),
    )
    .action(async (options: Options) => {
      const { usageReport } = await import("../../admin/operations/usage-report.ts");
      await withStore(terminal, options, {}, async (context) => {
        const range = chosenTime(options, context.clock.wallMs());
        const report = ranked(
          await usageReport(context, { by: options.by, ...range, key: options.key }),
          options.by,
        );
        const names = await keyNames(context, options.by);
        if (options.json) {
          const { usageDocument } = await import("../../admin/operations/usage-document.ts");
          const document = usageDocument(report, options.by, (id) => names.get(id)?.short ?? id);
          printJson(withFormerNames(document, report), terminal);
        } else if (report.groups.length === 0) terminal.print(`Nothing was used ${timeInWords(range)}.`);
        else terminal.print(asTable(report, options.by, names, terminal));
      });
    });
}

/** Names kept for compatibility, from before those of the admin API. */
function withFormerNames({ data, total, ...rest }: UsageView, { groups }: UsageReport): object {
  const former = (figures: FiguresView) => ({ failures: figures.failed, cost: figures.spend });
  return {
    ...rest,
    data,
    total: { ...total, ...former(total) },
    groups: data.map((row, place) => ({ [rest.by]: groups[place]?.group, ...row, ...former(row) })),
  };
}

/** Days and hours stay in order; everything else is sorted by cost plus list cost, as in the dashboard. */
function ranked(report: UsageReport, by: Grouping): UsageReport {
  if (by === "day" || by === "hour") return report;
  const worth = ({ spendNano, listCostNano }: Figures) => spendNano + listCostNano;
  const groups = report.groups.toSorted((a, b) => worth(b) - worth(a) || b.requests - a.requests);
  return { ...report, groups };
}

interface KeyName {
  /** As the admin API names it. */
  readonly short: string;
  readonly full: string;
}

/** Keys are grouped by id and shown by prefix and label. */
async function keyNames(context: OperationContext, by: Grouping): Promise<ReadonlyMap<string, KeyName>> {
  if (by !== "key") return new Map();
  const { listKeys } = await import("../../admin/operations/list-keys.ts");
  const keys = await listKeys(context);
  return new Map(
    keys.map(({ id, prefix, label }) => {
      return [id, { short: label ?? prefix, full: label === null ? prefix : `${prefix} ${label}` }];
    }),
  );
}

function asTable(
  report: UsageReport,
  by: Grouping,
  names: ReadonlyMap<string, KeyName>,
  terminal: Terminal,
): string {
  const { style } = terminal;
  // Columns that are empty on most gateways appear only if they have a value.
  const hasRefused = report.total.refused > 0;
  const hasListCost = report.total.listCostNano > 0;
  const warned = (value: number) => (value === 0 ? style.dim("0") : style.warn(count(value)));
  const row = (name: string, figures: Figures) => [
    name,
    count(figures.requests),
    warned(figures.failed),
    ...(hasRefused ? [warned(figures.refused)] : []),
    count(figures.inputTokens),
    cached(figures),
    count(figures.outputTokens),
    credits(figures.spendNano),
    ...(hasListCost ? [credits(figures.listCostNano)] : []),
    figures.firstByteCount === 0 ? "–" : span(figures.firstByteMs / figures.firstByteCount),
  ];
  const rows = report.groups.map((group) =>
    row(names.get(group.group)?.full ?? (group.group || "none"), group),
  );
  const total = row("total", report.total).map(style.bold);
  const refused = hasRefused ? ["REFUSED"] : [];
  const numbers = ["REQUESTS", "FAILED", ...refused, "INPUT", "CACHED", "OUTPUT", "CREDITS"];
  if (hasListCost) numbers.push("LIST COST");
  const columns: Column[] = [
    { title: by.toUpperCase(), elastic: true },
    ...[...numbers, "AVG FIRST BYTE"].map((title) => ({ title, align: "right" as const })),
  ];
  const range = `${timeInWords(report).replace("from", "From")}.`;
  const lines = [range, ...notes(report.total)];
  return [table(columns, [...rows, total], terminal), ...lines.map(style.dim)].join("\n");
}

/** How many tokens came from a cache, and their share of the input. */
function cached(figures: Figures): string {
  const share = cachedInputShare(figures) ?? 0;
  return share === 0 ? "0" : `${count(figures.cachedInputTokens)} (${Math.round(share * 100)} %)`;
}

/** Notes on what the columns cannot show. */
function notes(total: Figures): string[] {
  const lines: string[] = [];
  if (total.cancelled > 0) {
    const calls = plural(total.cancelled, "cancelled call");
    lines.push(`CREDITS has ${credits(total.cancelledSpendNano)} of ${calls}, which are no requests.`);
  }
  if (total.interrupted > 0) {
    const calls = plural(total.interrupted, "interrupted call");
    lines.push(`CREDITS has ${credits(total.interruptedSpendNano)} of ${calls}, which are no requests.`);
  }
  if (total.coveredAttempts > 0) {
    const attempts = plural(total.coveredAttempts, "attempt");
    lines.push(`${attempts} failed and did no harm: a retry or another deployment answered.`);
  }
  if (total.cacheSavingsNano > 0) {
    lines.push(
      `CACHED saved ${credits(total.cacheSavingsNano)} credits of what the same input costs otherwise.`,
    );
  }
  if (total.listCostNano > 0) {
    lines.push("LIST COST is what token-budget keys would have paid; it is not charged.");
  }
  return lines;
}
