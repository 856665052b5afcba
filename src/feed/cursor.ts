import { createHash } from "node:crypto";
import type { Entry } from "../store/store.ts";

/**
 * A place in the feed: an entry's id, and a hash of what never changes about it. So a cursor stays valid in a copy of the
 * database, and in a restored one that still has the entry. It is invalid where the id belongs to another entry.
 */
export function cursorOf(entry: Entry): string {
  return `${entry.id}.${hashOf(entry)}`;
}

export const cursorPattern = "^[1-9]\\d{0,14}\\.[\\w-]{16}$";

/** The id in a cursor that has the right form. */
export function entryIdOf(cursor: string): number {
  return Number.parseInt(cursor, 10);
}

function hashOf({ id, accountId, keyId, kind, amount, atMs, exchangeId }: Entry): string {
  const facts = JSON.stringify([id, accountId, keyId, kind, amount, atMs, exchangeId]);
  return createHash("sha256").update(facts).digest("base64url").slice(0, 16);
}
