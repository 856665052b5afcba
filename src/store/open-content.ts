import type { ContentStore } from "./content-store.ts";
import type { StoreLocation } from "./settings.ts";

/** The only way to recorded content. In a folder it is a file of its own beside the ledger. */
export async function openContentStore(location: StoreLocation): Promise<ContentStore> {
  if ("url" in location) {
    const { openPostgresContent } = await import("./postgres/content/content-tables.ts");
    return openPostgresContent(location);
  }
  const { openSqliteContent } = await import("./sqlite/content/content-database.ts");
  return openSqliteContent(location.dir);
}

/** Whether a data folder has recorded content. */
export async function hasContentFile(dir: string): Promise<boolean> {
  const { contentFile } = await import("./sqlite/content/content-file.ts");
  return Bun.file(contentFile(dir)).exists();
}
