import { type Command, Option } from "commander";
import type { OperationContext } from "../../admin/operations/context.ts";
import type { UsageReport } from "../../admin/operations/usage-report.ts";
import { creditsFromNano } from "../../base/money.ts";
import type { UsageGroup } from "../../store/store.ts";
import { since } from "../arguments.ts";
import { type DataOptions, examples, newDataCommand } from "../help.ts";
import { withStore } from "../open-store.ts";
import { count, credits, moment, span } from "../terminal/format.ts";
import { table } from "../terminal/table.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

type Grouping = "day" | "hour" | "model" | "provider" | "key";

interface Options extends DataOptions {
  readonly key?: string;
  readonly since?: number;
  readonly by: Grouping;
}

const weekMs = 7 * 86_400_000;

export function usageCommand(terminal: Terminal): Command {
  return newDataCommand("usage", "Report requests, tokens and cost")
    .option("--key <key>", "only this key, by id or prefix")
    .option("--since <when>", "a duration such as 7d or 12h, or a date (default: 7d)", (text) => since(text))
    .addOption(
      new Option("--by <day|hour|model|provider|key>", "one line for each (default: day)")
        .choices(["day", "hour", "model", "provider", "key"])
        .default("day"),
    )
    .addHelpText(
      "after",
      examples(
        ["sluice usage", "the last week, day by day"],
        ["sluice usage --by model --since 30d", "the last month, model by model"],
        ["sluice usage --by hour --since 24h --key slu_8fK2mQ0x", "one key's last day"],
      ),
    )
    .action(async (options: Options) => {
      const { usageReport } = await import("../../admin/operations/usage-report.ts");
      await withStore(terminal, options, {}, async (context) => {
        const sinceMs = options.since ?? context.clock.wallMs() - weekMs;
        const report = await usageReport(context, { by: options.by, sinceMs, key: options.key });
        if (options.json) printJson(documentOf(report, options.by, sinceMs), terminal);
        else if (report.groups.length === 0) terminal.print(`Nothing was used since ${moment(sinceMs)} UTC.`);
        else terminal.print(asTable(report, options.by, await keyNames(context, options.by), terminal));
      });
    });
}

/** Keys are grouped by id; people know them by prefix and label. */
async function keyNames(context: OperationContext, by: Grouping): Promise<ReadonlyMap<string, string>> {
  if (by !== "key") return new Map();
  const { listKeys } = await import("../../admin/operations/list-keys.ts");
  const keys = await listKeys(context);
  return new Map(keys.map(({ id, prefix, label }) => [id, label === null ? prefix : `${prefix} ${label}`]));
}

function asTable(
  report: UsageReport,
  by: Grouping,
  names: ReadonlyMap<string, string>,
  terminal: Terminal,
): string {
  const { style } = terminal;
  const row = (name: string, group: UsageGroup) => [
    name,
    count(group.requests),
    group.failures === 0 ? style.dim("0") : style.warn(count(group.failures)),
    count(group.inputTokens),
    count(group.cachedInputTokens),
    count(group.outputTokens),
    credits(group.costNano),
    group.firstByteCount === 0 ? "–" : span(group.firstByteMs / group.firstByteCount),
  ];
  const rows = report.groups.map((group) => row(names.get(group.group) ?? group.group, group));
  const total = row("total", report.total).map(style.bold);
  const columns = [
    { title: by.toUpperCase(), elastic: true },
    { title: "REQUESTS", align: "right" },
    { title: "FAILED", align: "right" },
    { title: "INPUT", align: "right" },
    { title: "CACHED", align: "right" },
    { title: "OUTPUT", align: "right" },
    { title: "CREDITS", align: "right" },
    { title: "FIRST BYTE", align: "right" },
  ] as const;
  return table(columns, [...rows, total], terminal);
}

function documentOf(report: UsageReport, by: Grouping, sinceMs: number): object {
  return {
    by,
    since: new Date(sinceMs).toISOString(),
    groups: report.groups.map((group) => ({ [by]: group.group, ...sumsOf(group) })),
    total: sumsOf(report.total),
  };
}

function sumsOf(group: UsageGroup): object {
  return {
    requests: group.requests,
    failures: group.failures,
    input_tokens: group.inputTokens,
    cached_input_tokens: group.cachedInputTokens,
    output_tokens: group.outputTokens,
    cost: creditsFromNano(group.costNano),
    average_first_byte_ms: group.firstByteCount === 0 ? null : group.firstByteMs / group.firstByteCount,
  };
}
