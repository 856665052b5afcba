import { type Command, InvalidArgumentError, Option } from "commander";
import { dimensionWords, readDimensions, type UsageReport } from "../../admin/operations/usage-report.ts";
import type { FiguresView, UsageRowView, UsageView } from "../../admin/views.ts";
import { cachedInputShare, dimensionNames, type Figures } from "../../store/store.ts";
import { since } from "../arguments.ts";
import { chosenTime, sinceHelp, timeInWords, untilHelp } from "../chosen-time.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../help.ts";
import { withStore } from "../open-store.ts";
import { cellOf, csvOf, type ListColumn, table } from "../terminal/list.ts";
import { count, credits, plural, printJson, span, type Terminal } from "../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption {
  readonly key?: string;
  readonly account?: string;
  readonly since?: number;
  readonly until?: number;
  readonly by: readonly string[];
}

export function usageCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("usage", "Report requests, tokens and cost"))
    .option("--key <key>", "only this key, by id, prefix or label")
    .option("--account <account>", "only what this account paid for")
    .option("--since <when>", sinceHelp, (text) => since(text))
    .option("--until <when>", untilHelp, (text) => since(text))
    .addOption(
      new Option(
        "--by <what>",
        `one line for each: ${dimensionNames.join(", ")}; several with commas (default: day)`,
      )
        .choices(dimensionNames)
        .argParser(dimensions)
        .default(["day"]),
    )
    .examples(
      ["sluice usage", "the last week, day by day"],
      ["sluice usage --by model --since 30d", "the last month, model by model"],
      ["sluice usage --by key,model --since 2026-10 --until 2026-11", "what each key used in October"],
      ["sluice usage --by month,owner --since 2026-01 --csv", "who spent what, for a spreadsheet"],
      ["sluice usage --by hour --since 24h --key slu_8fK2mQ0x", "one key's last day"],
    )
    .action(async (options: Options) => {
      const { readNames, usageReport } = await import("../../admin/operations/usage-report.ts");
      const { nameOf, usageDocument } = await import("../../admin/operations/usage-document.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { by, key, account } = options;
        const range = chosenTime(options, context.clock.wallMs());
        const report = await usageReport(context, { by, ...range, key, account });
        const names = await readNames(context, by);
        const document = usageDocument(report, names);
        const columns = columnsOf(report, terminal, (value) => nameOf(value, names.full));
        if (options.json) printJson(withFormerNames(document, report), terminal);
        else if (options.csv) terminal.print(csvOf(columns, rowsOf(document, report)));
        else if (report.groups.length === 0) terminal.print(`Nothing was used ${timeInWords(range)}.`);
        else terminal.print(asTable(document, report, columns, terminal));
      });
    });
}

function dimensions(text: string): readonly string[] {
  const names = readDimensions(text);
  if (names === null) throw new InvalidArgumentError(`It is ${dimensionWords}.`);
  return names;
}

/** Names kept for compatibility, from before those of the admin API. */
function withFormerNames({ data, total, ...rest }: UsageView, { by, groups }: UsageReport): object {
  const former = (figures: FiguresView) => ({ failures: figures.failed, cost: figures.spend });
  const valuesOf = (place: number) =>
    Object.fromEntries(by.map((dimension, index) => [dimension, groups[place]?.groups[index] ?? null]));
  return {
    ...rest,
    data,
    total: { ...total, ...former(total) },
    groups: data.map((row, place) => ({ ...valuesOf(place), ...row, ...former(row) })),
  };
}

/** A line: its figures as programs and as people read them. */
interface Line {
  readonly view: Pick<UsageRowView, "name"> & FiguresView;
  readonly values: readonly (string | null)[];
  readonly figures: Figures;
}

function rowsOf({ data }: UsageView, { groups }: UsageReport): readonly Line[] {
  return groups.flatMap((figures, place) => {
    const view = data[place];
    return view === undefined ? [] : [{ view, values: figures.groups, figures }];
  });
}

/** CSV has all of them; the table leaves out what is empty on most gateways, unless it has a value. */
function columnsOf(
  { by, total }: UsageReport,
  { style }: Terminal,
  nameOf: (value: string | null) => string,
): readonly ListColumn<Line>[] {
  const warned = (value: number) => (value === 0 ? style.dim("0") : style.warn(count(value)));
  const figure = (
    name: keyof FiguresView,
    title?: string,
    cell?: (figures: Figures) => string,
  ): ListColumn<Line> => ({
    name,
    align: "right",
    value: ({ view }) => view[name],
    ...(title === undefined ? {} : { title }),
    ...(cell === undefined ? {} : { cell: ({ figures }) => cell(figures) }),
  });
  return [
    ...by.map(
      (dimension, place): ListColumn<Line> => ({ name: dimension, value: ({ values }) => values[place] }),
    ),
    {
      name: "name",
      title: by.join(", ").toUpperCase(),
      elastic: true,
      value: ({ view }) => view.name,
      cell: ({ view, values }) => (values.length === 0 ? view.name : values.map(nameOf).join(", ")),
    },
    figure("requests", "REQUESTS", ({ requests }) => count(requests)),
    figure("completed"),
    figure("failed", "FAILED", ({ failed }) => warned(failed)),
    figure("refused", total.refused > 0 ? "REFUSED" : undefined, ({ refused }) => warned(refused)),
    figure("cancelled"),
    figure("interrupted"),
    figure("input_tokens", "INPUT", ({ inputTokens }) => count(inputTokens)),
    figure("cached_input_tokens", "CACHED", cached),
    figure("cached_input_share"),
    figure("output_tokens", "OUTPUT", ({ outputTokens }) => count(outputTokens)),
    figure("spend", "SPEND", ({ spendNano }) => credits(spendNano)),
    figure("cancelled_spend"),
    figure("interrupted_spend"),
    figure("spend_tokens"),
    figure("list_cost", total.listCostNano > 0 ? "LIST COST" : undefined, ({ listCostNano }) =>
      credits(listCostNano),
    ),
    figure("cache_savings"),
    figure("covered_attempts"),
    figure("average_first_byte_ms", "AVG FIRST BYTE", ({ firstByteMs, firstByteCount }) =>
      firstByteCount === 0 ? "–" : span(firstByteMs / firstByteCount),
    ),
    figure("average_total_ms"),
  ];
}

function asTable(
  document: UsageView,
  report: UsageReport,
  all: readonly ListColumn<Line>[],
  terminal: Terminal,
): string {
  const { style } = terminal;
  const columns = all.flatMap((column) =>
    column.title === undefined ? [] : [{ ...column, title: column.title }],
  );
  const total: Line = { view: { name: "total", ...document.total }, values: [], figures: report.total };
  const cells = (line: Line) => columns.map((column) => cellOf(column, line));
  const rows = [...rowsOf(document, report).map(cells), cells(total).map(style.bold)];
  const range = `${timeInWords(report).replace("from", "From")}.`;
  return [table(columns, rows, terminal), ...[range, ...notes(report.total)].map(style.dim)].join("\n");
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
    lines.push(`SPEND has ${credits(total.cancelledSpendNano)} of ${calls}, which are no requests.`);
  }
  if (total.interrupted > 0) {
    const calls = plural(total.interrupted, "interrupted call");
    lines.push(`SPEND has ${credits(total.interruptedSpendNano)} of ${calls}, which are no requests.`);
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
