import { query, type Work } from "./query.ts";
import { StoreError } from "./store.ts";

/** Where `sluice store copy` or `store export` moved a store's data, as recorded in the store itself. */
export interface MovedStore {
  readonly to: string;
  readonly atMs: number;
}

/** Null while the data is in use here. */
export function* readMoved(): Work<MovedStore | null> {
  const [row] = yield* query<MovedStore>(
    `SELECT moved_to AS "to", moved_at_ms::float8 AS "atMs" FROM state WHERE moved_to IS NOT NULL`,
  );
  return row ?? null;
}

/** Null makes the store usable again. */
export function* markMoved(moved: MovedStore | null): Work<void> {
  const values = [moved?.to ?? null, moved?.atMs ?? null];
  yield* query("UPDATE state SET moved_to = $1::text, moved_at_ms = $2::int8", values);
}

/** Two ledgers with one history would both be charged, and neither would be right. */
export function* rejectMoved(name: string): Work<void> {
  const moved = yield* readMoved();
  if (moved === null) return;
  const at = new Date(moved.atMs).toISOString().slice(0, 16).replace("T", " ");
  throw new StoreError(
    "moved",
    `The data of ${name} was moved to ${moved.to} at ${at} UTC. Nothing was changed. ` +
      `Use it there with --store or --data (import a file first), or run \`sluice store reopen --at ${name}\`.`,
  );
}
