import type { Clock } from "../../base/clock.ts";
import { rejectMoved } from "../moved.ts";
import type { PostgresStoreSettings } from "../settings.ts";
import { type Store, StoreError } from "../store.ts";
import { cleanStoredLabels, selectCleaned } from "../tables/clean-labels.ts";
import { presentMs } from "../tables/clock-return.ts";
import { parseAddress } from "./address.ts";
import { PostgresClient } from "./client.ts";
import { Database, performed } from "./database.ts";
import { Maintenance } from "./maintenance.ts";
import { migrate, readSchema } from "./migrate.ts";
import { postgresStatements } from "./own-statements.ts";
import { postgresStore } from "./postgres-store.ts";
import { requireSafeServer } from "./requirements.ts";

/** For reports and operators' actions. Charges have their own connections. */
const gatewayConnections = 4;
const operatorConnections = 2;
const deadlineMs = 30_000;
/** A gateway may start at the same time as its database. */
const connectTimeoutMs = { gateway: 5_000, operator: 1_000 } as const;

export async function openPostgresStore(settings: PostgresStoreSettings): Promise<Store> {
  const { location, clock, role, migrates = role === "gateway", onBackgroundError = () => {} } = settings;
  const client = new PostgresClient({
    address: parseAddress(location.url, location.password),
    max: role === "gateway" ? gatewayConnections : operatorConnections,
    prepare: location.prepare,
    deadlineMs,
  });
  try {
    await new Database(client, connectTimeoutMs[role]).repeatedly(async () => {
      await requireSafeServer(client.query, client.address.name);
      if (migrates) await migrate(client);
      else await rejectUnusable(client);
      await performed(rejectMoved(client.address.name), client.query);
    });
    if (role === "operator") return postgresStore({ client, clock, maintenance: null });
    await new Database(client, connectTimeoutMs.gateway).repeatedly(() => cleanOnce(client, clock));
    const maintenance = new Maintenance({ client, clock, onError: onBackgroundError });
    await maintenance.start();
    return postgresStore({ client, clock, maintenance });
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Can be repeated: it leaves what is clean as it is. */
async function cleanOnce(client: PostgresClient, clock: Clock): Promise<void> {
  if ((await client.query(selectCleaned, [])).length > 0) return;
  const work = function* () {
    yield* cleanStoredLabels(postgresStatements, yield* presentMs(postgresStatements, clock.wallMs()));
  };
  await client.transaction((query) => performed(work(), query));
}

async function rejectUnusable(client: PostgresClient): Promise<void> {
  const schema = await readSchema(client.query, client.address.name);
  if (schema.isCurrent) return;
  const what = schema.version === 0 ? "is empty" : `has an older schema (${schema.version})`;
  throw new StoreError(
    "schema_missing",
    `The database ${client.address.name} ${what}. Run \`sluice serve\` or \`sluice store check --migrate\` to bring it up to date.`,
  );
}
