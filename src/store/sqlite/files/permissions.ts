import { lstatSync } from "node:fs";
import { join } from "node:path";
import { changeMode } from "../../../base/files/mode.ts";
import { systemCode } from "../../../base/system/system-code.ts";
import { StoreError } from "../../store.ts";
import { type DataFolder, namesIn } from "./folder.ts";

/** The permissions of group and others. */
const others = 0o077;
const ownFiles = /^(?:sluice\.(db|lock$|restore)|(content|reports)\.db)/;

/**
 * Removes other users' permissions on the ledger, its WAL and its copies, which a manual copy or a loose umask may
 * have granted, and reports each file. Throws if this user cannot change them. The folder's own permissions do not
 * change, because it may be shared; nor does anything that a symbolic link in it points to.
 */
export function restrictPermissions({ dir, backupDir }: DataFolder, onClosed: (file: string) => void): void {
  if (process.platform === "win32") return;
  const files = [
    ...namesIn(dir).flatMap((name) => (ownFiles.test(name) ? [join(dir, name)] : [])),
    ...namesIn(backupDir, lstatSync).map((name) => join(backupDir, name)),
  ];
  for (const file of files) if (close(file)) onClosed(file);
}

/** Returns whether others had access. */
function close(file: string): boolean {
  let mode = 0;
  try {
    return changeMode(file, (stats) => {
      mode = stats.mode & 0o777;
      return stats.isFile() && (mode & others) !== 0 ? mode & ~others : null;
    });
  } catch (error) {
    // SQLite has just removed the file.
    if (systemCode(error) === "ENOENT") return false;
    throw new StoreError(
      "readable_by_others",
      `${file} is readable by other users (mode ${mode.toString(8)}), and you are not its owner. ` +
        `Run \`chmod 600 ${file}\` as its owner, then try again.`,
    );
  }
}
