import type { ContentStore } from "./content-store.ts";
import type { StoreLocation } from "./settings.ts";

/** The only way to open recorded content. In a data folder it is a separate file next to the ledger. */
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
  const { contentFile } = await import("./sqlite/files/folder.ts");
  return Bun.file(contentFile(dir)).exists();
}

/** Whether a gateway runs on this data folder. */
export async function isServed(dir: string): Promise<boolean> {
  const { dataFolder } = await import("./sqlite/files/folder.ts");
  const { isLocked } = await import("./sqlite/files/folder-lock.ts");
  return isLocked(dataFolder(dir));
}

/** Copies recorded content next to a backup of the ledger; null if there is none. */
export async function backUpContent(dir: string, file: string): Promise<string | null> {
  return (await import("./sqlite/content/content-copy.ts")).backUpContent(dir, file);
}

/** Restores the content that was copied next to a backup; false if there is none. */
export async function restoreContent(dir: string, file: string): Promise<boolean> {
  return (await import("./sqlite/content/content-copy.ts")).restoreContent(dir, file);
}
