import { test } from "bun:test";
import type { StoreKind, TestDatabase } from "./kind.ts";

/** Each test has a database of its own, which PostgreSQL may take seconds to create while other tests run. */
const defaultTimeoutMs = 30_000;

/** Registers a test once for each of these kinds of store, with a database of its own. */
export function testEachKind<Database extends TestDatabase>(
  kinds: readonly StoreKind<Database>[],
  name: string,
  body: (database: Database) => Promise<void>,
  timeoutMs = defaultTimeoutMs,
): void {
  for (const kind of kinds) {
    const run = async () => {
      await using database = await kind.create();
      await body(database);
    };
    test(`${name} (${kind.name})`, run, timeoutMs);
  }
}
