import { type Command, Option } from "commander";
import { askedLabels } from "../../../admin/operations/asked-labels.ts";
import type { OperationContext } from "../../../admin/operations/context.ts";
import { unknownModelIn } from "../../../base/unknown-model.ts";
import type { Ending, ExchangeQuery, KeyRecord, ListedExchange } from "../../../store/store.ts";
import { atLeastOne, since } from "../../arguments.ts";
import { chosenTime, sinceHelp, timeInWords, untilHelp } from "../../chosen-time.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { count, credits, printable, second, span } from "../../terminal/format.ts";
import type { Style } from "../../terminal/style.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly key?: string;
  readonly since?: number;
  readonly until?: number;
  readonly outcome?: Ending;
  readonly code?: string;
  readonly model?: string;
  readonly user?: string;
  readonly session?: string;
  readonly tag?: string;
  readonly limit?: number;
}

const defaultLimit = 50;
const rowsPerPage = 500;
const outcomes = ["completed", "failed", "refused", "cancelled", "interrupted"] as const;

export function exchangesListCommand(terminal: Terminal): Command {
  return newDataCommand("list", "List exchanges, newest first, with how they ended")
    .option("--key <key>", "only this key, by id, prefix or label")
    .option("--since <when>", sinceHelp, (text) => since(text))
    .option("--until <when>", untilHelp, (text) => since(text))
    .addOption(new Option(`--outcome <${outcomes.join("|")}>`, "only those that ended so").choices(outcomes))
    .option("--code <code>", "only this error code, such as upstream_error")
    .option("--model <model>", "only this model")
    .option("--user <user>", "only this user, as the client names it")
    .option("--session <session>", "only this conversation")
    .option("--tag <name=value>", "only what has this tag, such as project=atlas")
    .option("--limit <n>", `at most so many (default: ${defaultLimit})`, atLeastOne)
    .addHelpText(
      "after",
      examples(
        ["sluice exchanges list --outcome failed --since 1h", "what is going wrong right now"],
        ["sluice exchanges list --since 2026-11-15T03:00 --until 2026-11-15T03:15", "what happened at night"],
        ["sluice exchanges list --key slu_8fK2mQ0x --code rate_limit_exceeded", "who is too fast"],
        ["sluice exchanges show req_0f3K9xTz", "why one of them ended as it did"],
      ),
    )
    .action(async (options: Options) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      const { exchangeDocument } = await import("../../../admin/operations/exchange-document.ts");
      await withStore(terminal, options, {}, async (context) => {
        const keyId = options.key === undefined ? undefined : (await findKey(context, options.key)).id;
        const { sinceMs, untilMs } = chosenTime(options, context.clock.wallMs());
        const { outcome, code, model } = options;
        const limit = options.limit ?? defaultLimit;
        const labels = askedLabels(options);
        const rows = await collect(context, { keyId, sinceMs, untilMs, outcome, code, model, labels, limit });
        const keys = await keysOf(context, rows);
        if (options.json) {
          const keyOf = (id: string) => keys.get(id) ?? null;
          printJson(
            rows.map((row) => exchangeDocument(row, keyOf)),
            terminal,
          );
        } else if (rows.length === 0)
          terminal.print(`No such exchange ${timeInWords({ sinceMs, untilMs })}.`);
        else {
          terminal.print(asTable(rows, keys, terminal));
          if (rows.length === limit) terminal.note(terminal.noteStyle.dim(more(limit)));
        }
      });
    });
}

function more(limit: number): string {
  return `These are the newest ${count(limit)}; --limit shows more of them.`;
}

/** In the gateway a search stops early rather than block requests; here it may take its time. */
async function collect({ store }: OperationContext, query: ExchangeQuery): Promise<ListedExchange[]> {
  const rows: ListedExchange[] = [];
  for (let cursor: string | undefined; rows.length < query.limit; ) {
    const limit = Math.min(rowsPerPage, query.limit - rows.length);
    const page = await store.reports.exchanges({ ...query, limit, cursor });
    rows.push(...page.rows);
    if (page.next === null) break;
    cursor = page.next;
  }
  return rows;
}

async function keysOf(
  { store }: OperationContext,
  rows: readonly ListedExchange[],
): Promise<ReadonlyMap<string, KeyRecord>> {
  const keys = new Map<string, KeyRecord>();
  for (const id of new Set(rows.map((row) => row.keyId))) {
    const key = await store.findKey(id);
    if (key !== null) keys.set(id, key);
  }
  return keys;
}

function asTable(
  rows: readonly ListedExchange[],
  keys: ReadonlyMap<string, KeyRecord>,
  terminal: Terminal,
): string {
  const { style } = terminal;
  const none = style.dim("–");
  const cells = rows.map((row) => [
    second(row.endedAtMs),
    row.exchangeId,
    keys.get(row.keyId)?.label ?? keys.get(row.keyId)?.prefix ?? row.keyId,
    row.model === "" ? unknownModel(row, style) : row.model,
    row.provider === "" ? none : row.provider,
    paintOutcome(row.outcome, style) + (row.alike === 0 ? "" : style.dim(` ×${count(row.alike + 1)}`)),
    row.status === null ? none : String(row.status),
    row.code ?? none,
    row.charged === 0 ? none : charged(row, keys),
    row.totalMs === null ? none : span(row.totalMs),
  ]);
  const columns = [
    { title: "ENDED" },
    { title: "EXCHANGE" },
    { title: "KEY", elastic: true },
    { title: "MODEL", elastic: true },
    { title: "PROVIDER", elastic: true },
    { title: "OUTCOME" },
    { title: "STATUS", align: "right" },
    { title: "CODE" },
    { title: "CHARGED", align: "right" },
    { title: "TOOK", align: "right" },
  ] as const;
  return table(columns, cells, terminal);
}

/** In quotation marks, since nobody here has that model. */
function unknownModel({ message }: ListedExchange, style: Style): string {
  const name = unknownModelIn(message);
  return style.dim(name === null ? "–" : `"${printable(name)}"`);
}

function charged(row: ListedExchange, keys: ReadonlyMap<string, KeyRecord>): string {
  const isCredit = keys.get(row.keyId)?.mode !== "token_budget";
  return isCredit ? `${credits(row.charged)} cr` : `${count(row.charged)} tok`;
}

export function paintOutcome(outcome: Ending, style: Style): string {
  if (outcome === "completed") return style.good(outcome);
  return outcome === "failed" ? style.bad(outcome) : style.warn(outcome);
}
