import type { FolderMaintenance } from "./files.ts";
import type { NodeSettings, StoreNode } from "./node.ts";
import { parseAddress } from "./postgres/address.ts";
import type { PostgresLocation, PostgresStoreSettings, StoreSettings } from "./settings.ts";
import type { JournaledStore, Store } from "./store.ts";

/**
 * The only way to a store. A database is imported when it is opened, so that a command that needs none loads none.
 */
export async function openStore(
  settings: StoreSettings & { readonly role: "gateway" },
): Promise<JournaledStore>;
export async function openStore(settings: StoreSettings | PostgresStoreSettings): Promise<Store>;
export async function openStore(settings: StoreSettings | PostgresStoreSettings): Promise<Store> {
  if ("location" in settings) {
    const { openPostgresStore } = await import("./postgres/open.ts");
    return openPostgresStore(settings);
  }
  const { openSqliteStore } = await import("./sqlite/open.ts");
  return openSqliteStore(settings);
}

/** Joins a database that several gateways share, and whose schema is up to date. */
export async function joinStore(settings: NodeSettings): Promise<StoreNode> {
  const { PostgresNode } = await import("./postgres/node/postgres-node.ts");
  return PostgresNode.join(settings);
}

/** `db.example.com:5432/sluice`: for display, without secrets. Throws a refusal if the URL cannot be used. */
export function nameOfDatabase({ url, password }: PostgresLocation): string {
  return parseAddress(url, password).name;
}

/** Restores, and checks of a data folder, which work without an open store. */
export async function maintainFolder(dir: string): Promise<FolderMaintenance> {
  const { SqliteMaintenance } = await import("./sqlite/files/maintenance.ts");
  return new SqliteMaintenance(dir);
}
