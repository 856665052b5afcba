import type { MoneyRules } from "../../shared-batch.ts";
import { type HoldRow, holdOf } from "../../tables/entry-table.ts";
import type { Query } from "../client.ts";
import type { HoldEnd } from "../lanes/hold-end.ts";

interface DeadHoldRow extends HoldRow {
  readonly accountNo: number;
  /** By the database's clock. */
  readonly atMs: number;
}

/** The ends of some holds of dead nodes. None if there are none, or only holds of accounts that are locked at the moment. */
export async function deadEnds(
  query: Query,
  rules: Pick<MoneyRules, "interrupt">,
  most: number,
): Promise<readonly HoldEnd[]> {
  const [row] = await query<{ holds: string }>("SELECT sluice_dead_holds($1)::text AS holds", [most]);
  // Safe cast: the function's promise.
  const rows = JSON.parse(row?.holds ?? "[]") as DeadHoldRow[];
  return rows.map((row) => endOf(row, rules));
}

function endOf({ accountNo, atMs, ...row }: DeadHoldRow, rules: Pick<MoneyRules, "interrupt">): HoldEnd {
  const hold = holdOf(row);
  const { holdId: id, keyId: key, chargeSoFar, openedAtMs, periodStartMs, countedAtMs } = hold;
  const { model, requestedModel, labels } = hold;
  if (chargeSoFar === 0) return { id, key, charge: null, response: null };
  const { response: _, turns: __, ...interruption } = rules.interrupt(hold, atMs);
  const held = { accountNo, openedAtMs, periodStartMs, countedAtMs, model, requestedModel, labels };
  return { id, key, charge: { ...interruption, ...held, atMs }, response: null };
}
