import { type MovedStore, markMoved, readMoved } from "../moved.ts";
import type { PostgresLocation } from "../settings.ts";
import { withClient } from "./client.ts";
import { performed } from "./database.ts";
import { readSchema } from "./migrate.ts";

/** Null if the data is in use. */
export function readMovedFrom(location: PostgresLocation): Promise<MovedStore | null> {
  return withClient(location, async ({ query, address }) => {
    const { isCurrent } = await readSchema(query, address.name);
    return isCurrent ? performed(readMoved(), query) : null;
  });
}

export function reopen(location: PostgresLocation): Promise<void> {
  return withClient(location, ({ query }) => performed(markMoved(null), query));
}
