import type { FolderMaintenance } from "./files.ts";
import type { PostgresStoreSettings, StoreSettings } from "./settings.ts";
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

/** Restores, and checks of a data folder, which work without an open store. */
export async function maintainFolder(dir: string): Promise<FolderMaintenance> {
  const { SqliteMaintenance } = await import("./sqlite/files/maintenance.ts");
  return new SqliteMaintenance(dir);
}
