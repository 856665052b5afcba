import { type Moved, movedRefusal } from "../moved.ts";
import type { PostgresLocation } from "../settings.ts";
import { parseAddress } from "./address.ts";
import { PostgresClient, type Query } from "./client.ts";
import { migrations, readSchema } from "./migrate.ts";

const deadlineMs = 30_000;

async function readMoved(query: Query): Promise<Moved | null> {
  const [row] = await query<{ to: string | null; atMs: number }>(
    `SELECT moved_to AS "to", coalesce(moved_at_ms, 0)::float8 AS "atMs" FROM state`,
  );
  return row === undefined || row.to === null ? null : { to: row.to, atMs: row.atMs };
}

export async function markMoved(query: Query, moved: Moved | null): Promise<void> {
  const values = [moved?.to ?? null, moved?.atMs ?? null];
  await query("UPDATE state SET moved_to = $1::text, moved_at_ms = $2::int8", values);
}

export async function refuseMoved(query: Query, name: string): Promise<void> {
  const moved = await readMoved(query);
  if (moved !== null) throw movedRefusal(name, moved);
}

/** Null if the data is in use. */
export function readMovedFrom(location: PostgresLocation): Promise<Moved | null> {
  return withClient(location, async ({ query, address }) => {
    const { version } = await readSchema(query, address.name);
    return version < migrations.length ? null : readMoved(query);
  });
}

export function reopen(location: PostgresLocation): Promise<void> {
  return withClient(location, ({ query }) => markMoved(query, null));
}

async function withClient<Result>(
  { url, password, prepare }: PostgresLocation,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = new PostgresClient({ address: parseAddress(url, password), max: 1, prepare, deadlineMs });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
