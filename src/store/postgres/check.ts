import type { DatabaseCheck } from "../check.ts";
import type { PostgresLocation } from "../settings.ts";
import { type Query, withClient } from "./client.ts";
import { Database } from "./database.ts";
import { migrate, migrations, readSchema } from "./migrate.ts";
import { listNodes } from "./node/list-nodes.ts";
import { requireSafeServer } from "./requirements.ts";

const timeoutMs = 2_000;
const roundTrips = 5;

/** Connects and inspects the database; with `migrates` it upgrades the schema first. */
export function checkDatabase(
  location: PostgresLocation,
  { migrates }: { readonly migrates: boolean },
): Promise<DatabaseCheck> {
  return withClient(location, async (client) => {
    const database = new Database(client, timeoutMs);
    const { read } = database;
    const [server] = await read<{ version: string; isEncrypted: boolean }>(
      `SELECT current_setting('server_version') AS version,
        coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted"`,
    );
    const { name } = client.address;
    await requireSafeServer(read, name);
    const roundTripMs = await medianRoundTrip(read);
    const schema = await database.repeatedly(() =>
      migrates ? migrate(client) : readSchema(client.query, name),
    );
    return {
      name,
      serverVersion: server?.version.split(" ")[0] ?? "",
      isEncrypted: server?.isEncrypted === true,
      roundTripMs,
      schema: { version: schema.version, known: migrations.length },
      nodes: schema.version === 0 ? [] : await listNodes(read),
    };
  });
}

async function medianRoundTrip(read: Query): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < roundTrips; round += 1) {
    const startedAtMs = performance.now();
    await read("SELECT 1");
    times.push(performance.now() - startedAtMs);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(roundTrips / 2)] ?? 0;
}
