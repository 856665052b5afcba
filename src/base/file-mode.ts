import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
} from "node:fs";

/**
 * Linux's `O_PATH`, for which Node has no name: opens a place in the tree, and not what is there. So nothing is read, no
 * right is needed, and closing it does not release locks that this process holds on the file.
 */
const placeOnly = 0o10000000;
const openedPlaces = "/proc/self/fd";
const canOpenPlaces = process.platform === "linux" && existsSync(openedPlaces);

/**
 * Changes the permissions of a file or folder itself. Of a symbolic link it changes nothing, nor of what that points to:
 * a folder may belong to somebody who would have root change any file of the machine. `modeFor` gives the new mode, or
 * null to leave it. Returns whether it was changed.
 */
export function changeMode(path: string, modeFor: (stats: Stats) => number | null): boolean {
  if (!canOpenPlaces) return change(path, lstatSync(path), modeFor);
  const place = openSync(path, placeOnly | constants.O_NOFOLLOW);
  try {
    return change(`${openedPlaces}/${place}`, fstatSync(place), modeFor);
  } finally {
    closeSync(place);
  }
}

function change(path: string, stats: Stats, modeFor: (stats: Stats) => number | null): boolean {
  const mode = stats.isSymbolicLink() ? null : modeFor(stats);
  if (mode === null) return false;
  chmodSync(path, mode);
  return true;
}
