import { statfsSync, statSync } from "node:fs";
import type { StoreSizes } from "../../store.ts";
import { dataFolder } from "./folder.ts";

/** The sizes of the folder's files, and the free space of its disk. */
export function folderSizes(dir: string): Omit<StoreSizes, "entries"> {
  const { databaseFile } = dataFolder(dir);
  const { bavail, bsize } = statfsSync(dir);
  return {
    databaseBytes: sizeOf(databaseFile),
    journalBytes: sizeOf(`${databaseFile}-wal`),
    diskFreeBytes: bavail * bsize,
  };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
