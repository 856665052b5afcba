import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreRefusal } from "../store.ts";
import type { DataFolder } from "./folder.ts";

/** The rights of everybody but the owner. */
const others = 0o077;
const ownFiles = /^sluice\.(db|lock$|restore)/;

/**
 * Takes the rights of everybody else from the ledger, its log and its copies, which a copy by hand or a loose umask
 * may have given them, and tells of each. Where this user may not do that, the folder is refused. The folder itself
 * stays as it is: it may be one that others share.
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
    // SQLite has just removed its own; nobody can read it any more.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
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
