import { test } from "bun:test";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import type { JournaledDatabase, StoreKind, TestDatabase } from "./kind.ts";
import { postgres } from "./postgres/kind.ts";
import { sqlite } from "./sqlite/kind.ts";

/** Every kind of store has to fulfil the same contract. */
export const storeKinds: readonly StoreKind[] = hasPostgres ? [sqlite, postgres] : [sqlite];
if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});

/** Those that the ledger in memory writes to. */
export const journaledKinds: readonly StoreKind<JournaledDatabase>[] = [sqlite];

/** Registers a test once for each kind of store, with a database of its own. */
export function testEachStore(
  name: string,
  body: (database: TestDatabase) => Promise<void>,
  timeoutMs?: number,
): void {
  testEach(storeKinds, name, body, timeoutMs);
}

/** The same for what only a store with a journal does. */
export function testEachJournal(
  name: string,
  body: (database: JournaledDatabase) => Promise<void>,
  timeoutMs?: number,
): void {
  testEach(journaledKinds, name, body, timeoutMs);
}

function testEach<Database extends TestDatabase>(
  kinds: readonly StoreKind<Database>[],
  name: string,
  body: (database: Database) => Promise<void>,
  timeoutMs: number | undefined,
): void {
  for (const kind of kinds) {
    const run = async () => {
      await using database = await kind.create();
      await body(database);
    };
    test(`${name} (${kind.name})`, run, timeoutMs);
  }
}
