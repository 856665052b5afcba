import type { PlaygroundRecords, PlaygroundSecret } from "../playground-records.ts";
import { type Queries, query } from "../query.ts";
import { first } from "./rows.ts";

export function storedPlayground({ read, change, changeTogether }: Queries): PlaygroundRecords {
  return {
    begin: ({ hash, keyId, endsAtMs, amountLeft }, nowMs) =>
      changeTogether(function* () {
        yield* query("DELETE FROM playground_secrets WHERE ends_at_ms <= $1::int8", [nowMs]);
        yield* query(
          "INSERT INTO playground_secrets (hash, key_id, ends_at_ms, amount_left) VALUES ($1, $2, $3::int8, $4::int8)",
          [hash, keyId, endsAtMs, amountLeft],
        );
      }),

    find: (hash, nowMs) =>
      read<PlaygroundSecret>(
        `SELECT hash, key_id AS "keyId", ends_at_ms::float8 AS "endsAtMs", amount_left::float8 AS "amountLeft"
        FROM playground_secrets WHERE hash = $1 AND ends_at_ms > $2::int8`,
        [hash, nowMs],
      ).then(first),

    async take(hash, amount) {
      const taken = await change(
        `UPDATE playground_secrets SET amount_left = amount_left - $2::int8 WHERE hash = $1 AND amount_left >= $2::int8
        RETURNING hash`,
        [hash, amount],
      );
      if (taken.length > 0) return null;
      const [row] = await read<{ left: number }>(
        'SELECT amount_left::float8 AS "left" FROM playground_secrets WHERE hash = $1',
        [hash],
      );
      return row?.left ?? 0;
    },

    async giveBack(hash, amount) {
      await change("UPDATE playground_secrets SET amount_left = amount_left + $2::int8 WHERE hash = $1", [
        hash,
        amount,
      ]);
    },
  };
}
