import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../../../base/system-code.ts";
import { StoreRefusal } from "../../store.ts";
import type { DataFolder } from "./folder.ts";

/** The rights of everybody but the owner. */
const others = 0o077;
const ownFiles = /^sluice\.(db|lock$|restore)/;

/**
 * Removes other users' permissions on the ledger, its WAL and its copies, as a manual copy or a loose umask may have
 * granted, and reports each file. Refuses the folder if this user may not change them. The folder's own permissions
 * are not changed, because it may be shared.
 */
export function closeToOthers({ dir, backupDir }: DataFolder, onClosed: (file: string) => void): void {
  if (process.platform === "win32") return;
  const files = [
    ...namesIn(dir).flatMap((name) => (ownFiles.test(name) ? [join(dir, name)] : [])),
    ...namesIn(backupDir).map((name) => join(backupDir, name)),
  ];
  for (const file of files) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile() || (stats.mode & others) === 0) continue;
    close(file, stats.mode & 0o777);
    onClosed(file);
  }
}

function close(file: string, mode: number): void {
  try {
    chmodSync(file, mode & ~others);
  } catch (error) {
    // SQLite has just removed the file.
    if (systemCode(error) === "ENOENT") return;
    throw new StoreRefusal(
      "readable_by_others",
      `Other users of this machine may read ${file} (mode ${mode.toString(8)}), and this user may not change that. ` +
        `Run \`chmod 600 ${file}\` as its owner, then try again.`,
    );
  }
}

function namesIn(dir: string): string[] {
  return statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(dir) : [];
}
