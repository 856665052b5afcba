import { NodeUnavailable, type TokenBucket, type TokenVerdict } from "../../node.ts";
import type { Query } from "../client.ts";
import { WriteQueue } from "../write-queue.ts";
import { numberAt } from "./number-at.ts";

/** Takes the amount from every bucket, or from none. */
export interface TokenOrder {
  readonly buckets: readonly TokenBucket[];
  readonly amount: number;
  /** Takes the amount even if there is too little. Below 0 returns tokens. */
  readonly isForced: boolean;
}

interface TokenRow {
  readonly granted: ArrayLike<number>;
  readonly levels: ArrayLike<number>;
}

/** The first query on a closed connection may fail. */
const attempts = 2;

/**
 * Takes rate tokens, one batch at a time. Batches are not numbered: tokens of a lost reply are lost, but only for a
 * minute.
 */
export function tokenBatches(query: Query): WriteQueue<TokenOrder, TokenVerdict> {
  return new WriteQueue(async (orders) => {
    const groups = [...Map.groupBy(orders, alike).values()];
    const { granted, levels } = await takeAll(query, groups);
    const verdicts = new Map<TokenOrder, TokenVerdict>();
    let row = 0;
    for (const [at, same] of groups.entries()) {
      const passing = numberAt(granted, at);
      const { buckets = [], amount = 0 } = same[0] ?? {};
      const left = buckets.map((_, place) => numberAt(levels, row + place));
      row += buckets.length;
      // Earlier requests get their tokens first; the level is as if the later ones had come afterwards.
      for (const [place, order] of same.entries()) {
        const later = amount * Math.max(0, passing - 1 - place);
        verdicts.set(order, { granted: place < passing, levels: left.map((level) => level + later) });
      }
    }
    return orders.map((order) => verdicts.get(order) as TokenVerdict);
  });
}

/** Groups the requests of one key, so that a burst of them is one row. */
function alike(order: TokenOrder): unknown {
  const [first, ...others] = order.buckets;
  const isPlain = first !== undefined && others.length === 0 && order.amount === 1 && !order.isForced;
  return isPlain ? first.name : order;
}

async function takeAll(query: Query, groups: readonly (readonly TokenOrder[])[]): Promise<TokenRow> {
  // A bucket has two limits only while its limit is being changed.
  const limits = new Map(groups.flatMap((same) => same[0]?.buckets ?? []).map((each) => [each.name, each]));
  const places = new Map([...limits.keys()].map((name, at) => [name, at + 1]));
  const rows = groups.flatMap((same, at) =>
    same
      .slice(0, 1)
      .flatMap(({ buckets, amount, isForced }) =>
        buckets.map(
          ({ name }) => [at + 1, places.get(name) ?? 0, amount, isForced ? 0 : same.length] as const,
        ),
      ),
  );
  const parameters = [
    [...limits.keys()],
    Array.from(limits.values(), ({ capacity }) => capacity),
    rows.map(([order]) => order),
    rows.map(([, bucket]) => bucket),
    rows.map(([, , amount]) => amount),
    rows.map(([, , , times]) => times),
  ];
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const [row] = await query<TokenRow>(
        "SELECT granted, levels FROM sluice_take_tokens($1::text[], $2::int8[], $3::int[], $4::int[], $5::int8[], $6::int[])",
        parameters,
      );
      if (row !== undefined) return row;
    } catch {
      // Retried once, then rejected. The node's heartbeats report the problem.
    }
  }
  throw new NodeUnavailable();
}
