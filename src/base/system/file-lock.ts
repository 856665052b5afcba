import { FFIType, read } from "bun:ffi";
import { loadSystemLibrary } from "./system-library.ts";

/** flock(2): LOCK_SH, LOCK_EX and LOCK_NB, and EWOULDBLOCK in errno(3). */
const operations = { shared: 1, exclusive: 2 } as const;
const withoutWaiting = 4;
const wouldBlock = 11;

const { i32, ptr: pointer } = FFIType;
const signatures = {
  flock: { args: [i32, i32], returns: i32 },
  __errno_location: { args: [], returns: pointer },
} as const;

/**
 * Locks an open file or folder until its descriptor is closed or the process ends. False if another descriptor has a lock that
 * excludes it. True without a lock on systems and file systems that have none.
 */
export function tryFileLock(descriptor: number, kind: keyof typeof operations): boolean {
  const library = loadSystemLibrary(signatures);
  if (library === null || library.flock(descriptor, operations[kind] | withoutWaiting) === 0) return true;
  const place = library.__errno_location();
  return place === null || read.i32(place) !== wouldBlock;
}
