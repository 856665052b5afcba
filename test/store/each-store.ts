import { test } from "bun:test";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { testEachKind } from "./each-kind.ts";
import type { StoreKind, TestDatabase } from "./kind.ts";
import { postgres } from "./postgres/kind.ts";
import { sqlite } from "./sqlite/kind.ts";

/** Every kind of store has to fulfil the same contract. */
export const storeKinds: readonly StoreKind[] = hasPostgres ? [sqlite, postgres] : [sqlite];
if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});

/** Registers a test once for each kind of store. */
export function testEachStore(
  name: string,
  body: (database: TestDatabase) => Promise<void>,
  timeoutMs?: number,
): void {
  testEachKind(storeKinds, name, body, timeoutMs);
}
