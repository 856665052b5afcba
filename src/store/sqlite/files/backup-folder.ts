import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { changeMode, chownToFolderOwner } from "../../../base/files/mode.ts";
import { syncFile } from "./backup.ts";
import type { DataFolder } from "./folder.ts";

/** Creates the folder for automatic copies, readable by the owner only even if it existed before. */
export function createBackupFolder({ dir, backupDir }: Pick<DataFolder, "dir" | "backupDir">): void {
  mkdirSync(backupDir, { recursive: true, mode: 0o700 });
  changeMode(backupDir, () => 0o700);
  chownToFolderOwner(backupDir);
  syncFile(dir);
}

/** A path in the backup folder that shows the kind and time of the copy. */
export function backupFile(
  { backupDir }: Pick<DataFolder, "backupDir">,
  what: string,
  nowMs: number,
  ending = "db",
): string {
  return join(backupDir, `${what}-${new Date(nowMs).toISOString().replaceAll(":", "-")}.${ending}`);
}
