import { NodeUnavailable, type TokenVerdict } from "../../node.ts";
import type { Query } from "../client.ts";
import { WriteQueue } from "../write-queue.ts";
import { figureAt } from "./figure-at.ts";

interface TokenOrder {
  readonly keyId: string;
  readonly capacity: number;
}

interface TokenRow {
  readonly granted: ArrayLike<number>;
  readonly levels: ArrayLike<number>;
}

/** The first query after a connection was closed may fail. */
const attempts = 2;

/**
 * Asks for rate tokens, one batch at a time. Batches have no numbers: tokens whose reply is lost are lost too, which harms
 * nobody for longer than a minute.
 */
export function tokenBatches(query: Query): WriteQueue<TokenOrder, TokenVerdict> {
  return new WriteQueue(async (orders) => {
    // Two limits of one key meet only while it is being changed.
    const byKey = [...Map.groupBy(orders, ({ keyId }) => keyId).values()];
    const { granted, levels } = await ask(query, byKey);
    const verdicts = new Map<TokenOrder, TokenVerdict>();
    for (const [at, same] of byKey.entries()) {
      const [passing, level] = [figureAt(granted, at), figureAt(levels, at)];
      // Whoever came first gets a token; the level is as if the others had asked afterwards.
      for (const [place, order] of same.entries()) {
        verdicts.set(order, { granted: place < passing, level: level + Math.max(0, passing - 1 - place) });
      }
    }
    return orders.map((order) => verdicts.get(order) as TokenVerdict);
  });
}

/** What a batch asks for of one key is asked for at once. */
async function ask(query: Query, byKey: readonly (readonly TokenOrder[])[]): Promise<TokenRow> {
  const firsts = byKey.flatMap((same) => same.slice(0, 1));
  const parameters = [
    firsts.map(({ keyId }) => keyId),
    firsts.map(({ capacity }) => capacity),
    byKey.map((same) => same.length),
  ];
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const [row] = await query<TokenRow>(
        "SELECT granted, levels FROM sluice_take_tokens($1::text[], $2::int[], $3::int[])",
        parameters,
      );
      if (row !== undefined) return row;
    } catch {
      // Tried once more, then refused. The node's own signs of life report what is wrong.
    }
  }
  throw new NodeUnavailable();
}
