import { test } from "bun:test";
import type { StoreKind, TestDatabase } from "./kind.ts";
import { sqlite } from "./sqlite/kind.ts";

/** Every kind of store has to fulfil the same contract. */
export const storeKinds: readonly StoreKind[] = [sqlite];

/** Registers a test once for each kind of store, with a database of its own. */
export function testEachStore(
  name: string,
  body: (database: TestDatabase) => Promise<void>,
  timeoutMs?: number,
): void {
  for (const kind of storeKinds) {
    const run = async () => {
      await using database = await kind.create();
      await body(database);
    };
    test(`${name} (${kind.name})`, run, timeoutMs);
  }
}
