import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import type {
  ComparedAmountView,
  ReconciledRowView,
  ReconciliationView,
} from "../../admin/reconcile/schema.ts";
import { dateOfDay, utcDay } from "../../base/clock.ts";
import { csvLine } from "../../base/text/csv.ts";
import { count, plural } from "../../base/text/plural.ts";
import { argument, option, requiredOption } from "../help.ts";
import type { OperationClient } from "../operations/client.ts";
import { operation } from "../operations/operation-command.ts";
import { type Column, table } from "../terminal/list.ts";
import { CommandError, Misuse, type Terminal } from "../terminal/terminal.ts";

interface Fields {
  readonly provider: string;
  readonly from?: string;
  readonly to?: string;
  readonly tolerance?: number;
}

interface Extras {
  readonly files: readonly string[];
  readonly fetch?: true;
  readonly adminKey?: string;
  readonly all?: true;
}

/** The compared metrics and their titles, for every output. */
const figures = {
  requests: "REQUESTS",
  input: "INPUT",
  cached: "CACHED",
  cache_writes: "CACHE WRITES",
  output: "OUTPUT",
  cost: "COST (USD)",
} as const satisfies Readonly<Partial<Record<keyof ReconciledRowView, string>>>;
type Figure = keyof typeof figures;
const totalNames = Object.keys(figures) as Figure[];

export const reconcileCommand = operation<ReconciliationView, Fields, Extras>({
  name: "reconcile",
  summary: "Compare the ledger with a provider's usage report",
  call: "POST /reconcile",
  reads: true,
  fields: {
    provider: requiredOption("--provider <name>", "the provider's name in the configuration"),
    from: option("--from <date>", "the first day, UTC (default: the first of the month of --to)"),
    to: option("--to <date>", "the last day, UTC (default: yesterday)"),
    tolerance: option(
      "--tolerance <percent>",
      "exit with status 1 if a number differs by more (default: 1)",
      percent,
    ),
  },
  extras: {
    files: argument("[files...]", "saved reports of OpenAI or Anthropic, page by page, or CSV tables"),
    fetch: option("--fetch", "download the provider's reports, with an admin key"),
    adminKey: option("--admin-key <where>", "env:NAME or file:PATH of that key"),
    all: option("--all", "also show what matches"),
  },
  examples: [
    "sluice reconcile --provider openai --from 2026-10-01 --to 2026-10-31 usage.json costs.json",
    ["sluice reconcile --provider anthropic --fetch --admin-key env:ANTHROPIC_ADMIN_KEY", "this month"],
    ["sluice reconcile --provider house --tolerance 0 --csv bill.csv", "date,model,input,output,cost"],
  ],
  check({ files, fetch }) {
    if (fetch ? files.length === 0 : files.length > 0) return;
    throw new Misuse("pass the files of the usage report, or --fetch to get it from the provider");
  },
  async input(given, { client, terminal, nowMs }) {
    const { comparedDays, fetchReports } = await import("../../admin/reconcile/reconcile.ts");
    const { provider, tolerance, to = dateOfDay(utcDay(nowMs) - 1) } = given;
    const { from = `${to.slice(0, 7)}-01` } = given;
    const days = comparedDays(from, to);
    const files = given.fetch
      ? await fetchReports(
          await providerNamed(provider, client),
          await adminKey(given, terminal),
          days,
          (report, page) => terminal.note(terminal.noteStyle.dim(`fetching ${report}, page ${page}`)),
        )
      : given.files.map((name) => ({ name, text: readFileSync(resolve(terminal.cwd, name), "utf8") }));
    return { provider, from, to, tolerance, files };
  },
  csv: asCsv,
  show: (document, { given, terminal }) => terminal.print(asText(document, given.all === true, terminal)),
  hasFailed: ({ differing }) => differing > 0,
});

interface ConfiguredProviders {
  readonly providers: Readonly<Record<string, { readonly kind: string; readonly base_url: string }>>;
}

async function providerNamed(name: string, client: OperationClient) {
  const { providers } = await client.get<ConfiguredProviders>("/config");
  const provider = providers[name];
  if (provider !== undefined) return { kind: provider.kind, baseUrl: provider.base_url };
  throw new CommandError(
    `provider "${name}" is not configured, or its key is not set; configured: ${Object.keys(providers).join(", ") || "none"}`,
  );
}

/**
 * Reads the admin key from a variable or a file, never from the command line, where other users and the shell's history
 * would see it.
 */
async function adminKey({ adminKey: where }: Extras, { env, cwd }: Terminal): Promise<string> {
  const { isReference, readSecret } = await import("../../config/secrets.ts");
  if (where === undefined) throw new Misuse("--fetch needs --admin-key env:NAME or file:PATH");
  if (!isReference(where)) throw new Misuse("--admin-key must be env:NAME or file:PATH, not the key itself");
  const secret = readSecret(where, { env, folder: cwd });
  if (secret.kind === "value") return secret.value;
  throw new CommandError(`--admin-key: ${secret.kind === "unset" ? secret.reason : secret.message}`);
}

function percent(text: string): number {
  const value = Number(text.replace(/%$/, ""));
  if (/^\d+(\.\d+)?%?$/.test(text) && value <= 100) return value;
  throw new InvalidArgumentError("Pass a percentage such as 1 or 0.5.");
}

function asCsv({ data }: ReconciliationView): string {
  const sides = ["billed", "ledger", "difference"] as const;
  const titles = totalNames.flatMap((name) => sides.map((side) => `${name}_${side}`));
  const lines = data.map((row) => [
    row.date,
    row.model,
    ...totalNames.flatMap((name) => sides.map((side) => row[name][side])),
    row.differing.join(" "),
    row.reasons.map(({ text }) => text).join(" "),
  ]);
  return [["date", "model", ...titles, "differing", "reasons"], ...lines].map(csvLine).join("\n");
}

function asText(document: ReconciliationView, showsAllRows: boolean, terminal: Terminal): string {
  const { provider, from, to, tolerance, differing, data, total } = document;
  const { style } = terminal;
  const reported = totalNames.filter((name) => total[name].billed !== null);
  const rows = data.filter((row) => showsAllRows || row.differing.length > 0);
  const cells = (row: Pick<ReconciledRowView, Figure>, isMarked: (name: Figure) => boolean) =>
    reported.map((name) => cell(name, row[name], isMarked(name) ? style.warn : style.dim));
  const columns: Column[] = [
    { title: "DATE" },
    { title: "MODEL", elastic: true },
    ...reported.map((name) => ({ title: figures[name], align: "right" as const })),
  ];
  const lines = rows.map((row) => [
    row.date,
    row.model ?? "all",
    ...cells(row, (name) => row.differing.includes(name)),
  ]);
  const sum = ["total", "", ...cells(total, () => false)].map(style.bold);
  const reasons = rows.flatMap((row) =>
    row.reasons.map(({ text }) => `  ${row.date} ${row.model ?? "all"}: ${text}`),
  );
  const verdict =
    differing === 0
      ? style.good(`✓ ${provider}'s report from ${from} to ${to} matches the ledger within ${tolerance}%.`)
      : style.bad(
          `✗ ${provider}'s report from ${from} to ${to} differs from the ledger in ${plural(differing, "line")} by more than ${tolerance}%.`,
        );
  const reasonLines = reasons.length === 0 ? [] : ["", "Likely reasons:", ...reasons];
  return [table(columns, [...lines, sum], terminal), ...reasonLines, "", verdict].join("\n");
}

/** The reported value and its difference from the ledger. */
function cell(
  name: Figure,
  { billed, difference }: ComparedAmountView,
  mark: (text: string) => string,
): string {
  const shown = (value: number) => (name === "cost" ? value.toFixed(4) : count(value));
  if (billed === null || difference === null) return "–";
  const more = shown(Math.abs(difference));
  if (Number(more.replaceAll(",", "")) === 0) return shown(billed);
  return `${shown(billed)} ${mark(`(${difference > 0 ? "+" : "−"}${more})`)}`;
}
