import { lstatSync, readFileSync, type Stats, statSync } from "node:fs";
import { systemCode } from "../system/system-code.ts";

/**
 * Why another user may have written a file or folder, to be put after its name; null if only this user and root can
 * have, or if there is none. For what a program finds in its working folder, which it may share with other users.
 */
export function whyForeign(path: string): string | null {
  try {
    // A link that another user made could lead anywhere, and the mode of a link says nothing.
    return foreignOwner(lstatSync(path)) ?? whyForeignStats(statSync(path));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Checks a file that is open, and so cannot be replaced meanwhile. */
export function whyForeignStats(stats: Stats): string | null {
  const { gid, mode } = stats;
  const canOthersWrite = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isOwnGroup(gid));
  return foreignOwner(stats) ?? (canOthersWrite ? "can be written by other users" : null);
}

function foreignOwner({ uid }: Stats): string | null {
  const own = process.geteuid?.();
  return own === undefined || uid === own || uid === 0 ? null : "belongs to another user";
}

/**
 * Whether a group has no member but this user. Debian and Fedora create such a group for each user, and new files are
 * often writable by it.
 */
function isOwnGroup(gid: number): boolean {
  if (gid !== process.getegid?.()) return false;
  const groups = readFileSync("/etc/group", "utf8").split("\n");
  const members = groups.map((line) => line.split(":")).find(([, , id]) => Number(id) === gid)?.[3];
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const primary = users.map((line) => line.split(":")).filter(([, , , id]) => Number(id) === gid);
  const [own, ...others] = primary;
  return (members ?? "") === "" && others.length === 0 && Number(own?.[2]) === process.geteuid?.();
}
