import type {
  AccountStatementView,
  StatementLineView,
  StatementView,
} from "../../admin/accounts/statement-schema.ts";
import { ownAccountId } from "../../base/own-account.ts";
import { count, plural } from "../../base/text/plural.ts";
import { option } from "../help.ts";
import { operation } from "../operations/operation-command.ts";
import { csvOf, csvOnly, type ListColumn, listTable } from "../terminal/list.ts";
import { creditsShown, type Terminal, utcMinute } from "../terminal/terminal.ts";

export const statementCommand = operation<StatementView, { month?: string; account?: string }>({
  name: "statement",
  summary: "Print a monthly account statement",
  call: "GET /statement",
  fields: {
    month: option("--month <month>", "such as 2026-10, UTC (default: last month)"),
    account: option(
      "--account <account>",
      "only this account, by id or label (default: all that had an entry)",
    ),
  },
  examples: [
    ["sluice statement --month 2026-10 --account acme", "Acme's statement for October"],
    ["sluice statement --month 2026-10 --csv > october.csv", "all accounts, for a spreadsheet"],
  ],
  note: "The lines of an account add up to its ledger entries of the month. Costs above a prepaid balance were not charged\nand are not listed. Costs above the caps of a postpaid account, or above a hold of\nan earlier period, have a separate line.",
  input: ({ month, account }, { nowMs }) => ({ month: month ?? lastMonth(nowMs), account }),
  csv: (document) => csvOf(columns, linesOf(document)),
  show: (document, { terminal }) => terminal.print(asText(document, terminal)),
});

function lastMonth(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
}

/** A line, with its account. */
type Line = StatementLineView &
  Pick<StatementView, "month" | "unfinished"> & { readonly account: AccountStatementView };

function linesOf({ month, unfinished, accounts }: StatementView): readonly Line[] {
  return accounts.flatMap((account) =>
    account.lines.map((line) => ({ month, unfinished, account, ...line })),
  );
}

const right = { align: "right" } as const;
const kinds = { topup: "top-up", adjustment: "adjustment" } as const;

const columns: readonly ListColumn<Line>[] = [
  ...csvOnly("month", "unfinished"),
  { name: "account", value: ({ account }) => account.account },
  { name: "account_label", value: ({ account }) => account.label },
  ...csvOnly("kind", "at", "key_id", "key_prefix", "key_label", "owner"),
  { name: "model", title: "ITEM", elastic: true, cell: whatOf },
  {
    name: "recorded_requests",
    title: "REQUESTS",
    ...right,
    cell: (line) => figure(line, line.recorded_requests) + mark(line),
  },
  ...csvOnly("cancelled_calls"),
  { name: "input_tokens", title: "INPUT", ...right, cell: (line) => figure(line, line.input_tokens) },
  {
    name: "cached_input_tokens",
    title: "CACHED",
    ...right,
    cell: (line) => figure(line, line.cached_input_tokens),
  },
  { name: "output_tokens", title: "OUTPUT", ...right, cell: (line) => figure(line, line.output_tokens) },
  { name: "unit", value: ({ account }) => account.unit },
  { name: "amount", title: "AMOUNT", ...right, cell: ({ amount, account }) => shown(amount, account) },
  ...csvOnly("amount_nano", "reference", "note"),
];

function whatOf({ kind, at, model, key_label, key_prefix, owner, reference, note, account }: Line): string {
  if (kind === "charge" || kind === "overrun") {
    const above = kind === "overrun" && (account.owed === null ? "above the hold" : "above the cap");
    return [model ?? "–", key_label ?? key_prefix, owner, above].filter(Boolean).join("  ");
  }
  const day = at === null ? "" : utcMinute(at).slice(0, 10);
  return [kinds[kind], day, reference, note].filter(Boolean).join("  ");
}

function figure({ kind }: Line, value: number): string {
  return kind === "charge" ? count(value) : "";
}

/** Points to the footnote. */
function mark({ cancelled_calls: cancelled }: Pick<Line, "cancelled_calls">): string {
  return cancelled > 0 ? "*" : "";
}

function footnotes({ lines }: AccountStatementView): readonly string[] {
  const cancelled = lines.reduce((sum, line) => sum + line.cancelled_calls, 0);
  if (cancelled === 0) return [];
  const calls = plural(cancelled, "cancelled or interrupted request");
  return [`* AMOUNT includes ${calls}; REQUESTS and tokens do not.`];
}

function shown(amount: number, { unit }: AccountStatementView): string {
  return unit === "credits" ? creditsShown(amount) : count(amount);
}

function asText(document: StatementView, terminal: Terminal): string {
  const { month, accounts, unfinished } = document;
  if (accounts.length === 0) return `No account had an entry in ${month}.`;
  const lines = linesOf(document);
  const { style } = terminal;
  const parts = accounts.map((account) => {
    const isRunning = unfinished ? style.warn("  unfinished") : "";
    const title = style.bold(`${nameOf(account)}  ${month}`) + isRunning;
    const own = lines.filter((line) => line.account === account);
    const body = own.length === 0 ? ["Nothing was charged or paid."] : [listTable(columns, own, terminal)];
    return [title, ...body, ...footnotes(account), ...sumsOf(account)].join("\n");
  });
  return [...parts, ...(document.anchor === null ? [] : [`anchor ${document.anchor}`])].join("\n\n");
}

/** An account of a single key is shown under the key's name. */
function nameOf({ account, label, lines }: AccountStatementView): string {
  const own = lines.find(({ key_id: id }) => id !== null && ownAccountId(id) === account);
  return label ?? own?.key_label ?? own?.key_prefix ?? account;
}

function sumsOf(account: AccountStatementView): readonly string[] {
  const { last_entry: last } = account;
  return [...balancesOf(account), ...(last === null ? [] : [`last entry ${last}`])];
}

function balancesOf(account: AccountStatementView): readonly string[] {
  const { opening, closing, total, unit, owed } = account;
  if (opening === null || closing === null) return [`total ${shown(total, account)} ${unit}`];
  const sum = `opening balance ${shown(opening, account)}, this month ${shown(total, account)}, closing balance ${shown(closing, account)} ${unit}`;
  return [owed === null ? sum : `${sum}; amount due ${shown(owed, account)}`];
}
