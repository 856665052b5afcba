import { testEachKind } from "./each-kind.ts";
import type { JournaledDatabase, StoreKind } from "./kind.ts";
import { sqlite } from "./sqlite/kind.ts";

/** The kinds of store that the ledger in memory writes to. None of them needs a program of its own. */
export const journaledKinds: readonly StoreKind<JournaledDatabase>[] = [sqlite];

/** Registers a test once for each of them. */
export function testEachJournal(
  name: string,
  body: (database: JournaledDatabase) => Promise<void>,
  timeoutMs?: number,
): void {
  testEachKind(journaledKinds, name, body, timeoutMs);
}
