import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Linux's `O_PATH`, for which Node has no name: opens a place in the tree, and not what is there. So nothing is read, no
 * right is needed, and closing it does not release locks that this process holds on the file.
 */
const placeOnly = 0o10000000;
const openedPlaces = "/proc/self/fd";
const canOpenPlaces = process.platform === "linux" && existsSync(openedPlaces);

/**
 * Changes the permissions of a file or folder. Never follows a symbolic link: in a folder that another user owns, a link
 * could trick root into changing any file of the machine. `modeFor` returns the new mode, or null to leave it. Returns
 * whether the mode was changed.
 */
export function changeMode(path: string, modeFor: (stats: Stats) => number | null): boolean {
  return withPlace(path, (place, stats) => {
    const mode = stats.isSymbolicLink() ? null : modeFor(stats);
    if (mode !== null) chmodSync(place, mode);
    return mode !== null;
  });
}

/**
 * Gives a file that root created in another user's folder to that user, who could not open it otherwise. Skips files that are
 * not root's, and links (symbolic or hard): the folder's owner could have placed them there to get someone else's file.
 */
export function chownToFolderOwner(path: string): void {
  if (process.getuid?.() !== 0) return;
  const chown = (folder: string, { uid, gid }: Stats) => {
    if (uid === 0) return;
    withPlace(join(folder, basename(path)), (place, stats) => {
      const isRoots = stats.uid === 0 && (stats.isDirectory() || (stats.isFile() && stats.nlink === 1));
      if (isRoots) chownSync(place, uid, gid);
    });
  };
  // It stays the folder whose owner was read, even if they put another in its place meanwhile.
  withPlace(dirname(path), chown, { followsLink: true });
}

function withPlace<Result>(
  path: string,
  work: (place: string, stats: Stats) => Result,
  { followsLink = false } = {},
): Result {
  if (!canOpenPlaces) return work(path, followsLink ? statSync(path) : lstatSync(path));
  const place = openSync(path, placeOnly | (followsLink ? 0 : constants.O_NOFOLLOW));
  try {
    return work(`${openedPlaces}/${place}`, fstatSync(place));
  } finally {
    closeSync(place);
  }
}
