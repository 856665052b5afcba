import { FFIType, read } from "bun:ffi";
import { loadSystemLibrary } from "./system-library.ts";

/** flock(2): LOCK_EX and LOCK_NB, and EWOULDBLOCK in errno(3). */
const exclusive = 2;
const withoutWaiting = 4;
const wouldBlock = 11;

const { i32, ptr: pointer } = FFIType;
const signatures = {
  flock: { args: [i32, i32], returns: i32 },
  __errno_location: { args: [], returns: pointer },
} as const;

/**
 * Locks an open file or folder until its descriptor is closed or the process ends. False if another descriptor has the lock. True
 * without a lock on systems and file systems that have none.
 */
export function tryExclusiveLock(descriptor: number): boolean {
  const library = loadSystemLibrary(signatures);
  if (library === null || library.flock(descriptor, exclusive | withoutWaiting) === 0) return true;
  const place = library.__errno_location();
  return place === null || read.i32(place) !== wouldBlock;
}
