import { mapInTurns } from "../../base/loop/in-turns.ts";
import { anchorText } from "../../base/money/anchor.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { entryText } from "../../feed/entry-document.ts";
import type { AccountStatement, StatementLine } from "../../store/store.ts";
import { invalidInput, type OperationContext } from "../context.ts";
import { iso } from "../moments.ts";
import { findAccount } from "./accounts.ts";
import type { AccountStatementView, StatementView } from "./statement-schema.ts";

export interface StatementRequest {
  /** Such as `2026-10`, UTC. */
  readonly month: string;
  /** An id or label; absent means all that had an entry. */
  readonly account?: string | undefined;
}

/** A monthly statement for a customer: the opening balance plus the lines add up to the closing balance. */
export async function statementOf(
  context: OperationContext,
  { month, account }: StatementRequest,
): Promise<StatementView> {
  const range = rangeOf(month);
  const accountId = account === undefined ? undefined : (await findAccount(context, account)).id;
  const statements = await context.store.reports.statements({ ...range, accountId });
  const anchor = await context.store.chain.newest();
  return {
    month,
    since: iso(range.sinceMs),
    until: iso(range.untilMs),
    unfinished: range.untilMs > context.clock.wallMs(),
    anchor: anchor && anchorText(anchor),
    accounts: await mapInTurns(statements, accountDocument),
  };
}

function rangeOf(month: string) {
  const [, year, ofYear] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === undefined) throw invalidInput("a month must look like 2026-10");
  const at = (offset: number) => Date.UTC(Number(year), Number(ofYear) - 1 + offset);
  return { sinceMs: at(0), untilMs: at(1) };
}

async function accountDocument(statement: AccountStatement): Promise<AccountStatementView> {
  const { accountId, label, mode, isPostpaid, opening, lastEntry, lines } = statement;
  const isCredit = mode === "credit";
  const amount = (value: bigint) => (isCredit ? creditsFromNano(value) : Number(value));
  const sumOf = (kind: StatementLine["kind"]) =>
    lines.reduce((sum, line) => (line.kind === kind ? sum + line.amount : sum), 0n);
  const total = lines.reduce((sum, line) => sum + line.amount, 0n);
  const closing = opening + total;
  return {
    account: accountId,
    label,
    mode,
    postpaid: isPostpaid,
    unit: isCredit ? "credits" : "tokens",
    opening: isCredit ? amount(opening) : null,
    charged: amount(sumOf("charge") + sumOf("overrun")),
    topped_up: amount(sumOf("topup")),
    adjusted: amount(sumOf("adjustment")),
    total: amount(total),
    total_nano: isCredit ? Number(total) : null,
    closing: isCredit ? amount(closing) : null,
    last_entry: lastEntry && entryText(lastEntry),
    owed: isCredit && isPostpaid ? amount(closing < 0n ? -closing : 0n) : null,
    lines: await mapInTurns(lines, (line) => ({
      kind: line.kind,
      at: line.atMs === null ? null : iso(line.atMs),
      key_id: line.keyId,
      key_prefix: line.keyPrefix,
      key_label: line.keyLabel,
      owner: line.owner,
      model: line.model,
      recorded_requests: line.requests,
      cancelled_calls: line.cancelledCalls,
      input_tokens: line.inputTokens,
      cached_input_tokens: line.cachedInputTokens,
      output_tokens: line.outputTokens,
      amount: amount(line.amount),
      amount_nano: isCredit ? Number(line.amount) : null,
      reference: line.reference,
      note: line.note,
    })),
  };
}
