import { assert } from "../../../base/assert.ts";
import type { HoldDecision, HoldOrder, HoldVerdict } from "../../node.ts";
import type { Query } from "../client.ts";
import { storableJson } from "../text.ts";
import { figureAt } from "./figure-at.ts";

interface HoldRow {
  readonly verdicts: ArrayLike<number>;
  readonly balances: ArrayLike<number>;
  readonly frees: ArrayLike<number>;
  readonly periods: ArrayLike<number>;
}

/** By the numbers that `sluice_hold` gives, from 1 on. */
const decisions: readonly HoldDecision[] = [
  "held",
  "too_little",
  "reserved",
  "used_up",
  "disabled",
  "suspended",
  "revoked",
  "expired",
  "unknown_key",
];

/** A budget without a limit has so much, in SQL. */
const withoutLimit = 2 ** 62;

export async function sendHolds(
  query: Query,
  [node, lane, sequence]: readonly [number, number, number],
  orders: readonly HoldOrder[],
): Promise<readonly HoldVerdict[]> {
  const items = orders.map(({ holdId, keyId, amount, nowMs, model }, index) => ({
    n: index + 1,
    id: holdId,
    key: keyId,
    amount,
    now: nowMs,
    model,
  }));
  const [row] = await query<HoldRow>(
    "SELECT verdicts, balances, frees, periods FROM sluice_hold($1, $2, $3, $4::text::json)",
    [node, lane, sequence, storableJson(items)],
  );
  assert(row !== undefined, "sluice_hold returns a row");
  return orders.map((_, index) => verdictOf(row, index));
}

function verdictOf({ verdicts, balances, frees, periods }: HoldRow, index: number): HoldVerdict {
  const decision = decisions[figureAt(verdicts, index) - 1];
  assert(decision !== undefined, "a verdict of sluice_hold has a name");
  const balance = figureAt(balances, index);
  return {
    decision,
    balance: balance >= withoutLimit ? Number.POSITIVE_INFINITY : balance,
    remaining: balance >= withoutLimit ? Number.POSITIVE_INFINITY : Math.max(0, figureAt(frees, index)),
    periodStartMs: figureAt(periods, index),
  };
}
