import { assert } from "../../../base/assert.ts";
import type { ClaimName, ClaimOrder, ClaimVerdict } from "../../node.ts";
import type { Query } from "../client.ts";
import { storableJson } from "../text.ts";
import { numberAt } from "./number-at.ts";

export type ClaimItem = ({ readonly kind: "claim" } & ClaimOrder) | ({ readonly kind: "end" } & ClaimName);

/** Indexed by the number that `sluice_claim` returns, minus 1. */
const verdicts: readonly ClaimVerdict[] = ["run", "running", "conflict", "replay"];

/** Ends precede claims, so that a released name can be claimed in the same batch. */
export async function sendClaims(
  query: Query,
  [node, lane, sequence]: readonly [number, number, number],
  items: readonly ClaimItem[],
): Promise<readonly ClaimVerdict[]> {
  const claims = items.filter((item) => item.kind === "claim");
  const ends = items.filter((item) => item.kind === "end");
  const [row] = await query<{ readonly verdicts: ArrayLike<number> }>(
    "SELECT verdicts FROM sluice_claim($1, $2, $3, $4::text::json, $5::text::json)",
    [node, lane, sequence, storableJson(ends.map(scopeOf)), storableJson(claims.map(claimOf))],
  );
  assert(row !== undefined, "sluice_claim returns a row");
  let place = 0;
  return items.map((item) => {
    if (item.kind === "end") return "run";
    const verdict = verdicts[numberAt(row.verdicts, place) - 1];
    assert(verdict !== undefined, "a verdict of sluice_claim has a name");
    place += 1;
    return verdict;
  });
}

function scopeOf({ keyId, route, idempotencyKey, exchangeId }: ClaimName) {
  return { key: keyId, route, name: idempotencyKey, exchange: exchangeId };
}

function claimOf(claim: ClaimItem & { kind: "claim" }, index: number) {
  return {
    n: index + 1,
    ...scopeOf(claim),
    hash: claim.bodyHash,
    at: claim.atMs,
    not_before: claim.notBeforeMs,
  };
}
