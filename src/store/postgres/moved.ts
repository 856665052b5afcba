import { type MovedStore, markMoved, readMoved } from "../moved.ts";
import type { PostgresLocation } from "../settings.ts";
import { withClient } from "./client.ts";
import { performed } from "./database.ts";
import { migrations, readSchema } from "./migrate.ts";

/** Null if the data is in use. */
export function readMovedFrom(location: PostgresLocation): Promise<MovedStore | null> {
  return withClient(location, async ({ query, address }) => {
    const { version } = await readSchema(query, address.name);
    return version < migrations.length ? null : performed(readMoved(), query);
  });
}

export function reopen(location: PostgresLocation): Promise<void> {
  return withClient(location, ({ query }) => performed(markMoved(null), query));
}
