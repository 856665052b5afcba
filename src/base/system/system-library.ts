import { dlopen, type FFIFunction } from "bun:ffi";

/** On glibc and on musl. */
const libraryNames = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Functions of Linux's C library that Bun does not offer; null elsewhere. */
export function loadSystemLibrary<Signatures extends Record<string, FFIFunction>>(signatures: Signatures) {
  if (process.platform !== "linux") return null;
  for (const name of libraryNames) {
    try {
      return dlopen(name, signatures).symbols;
    } catch {
      // Try the next name.
    }
  }
  return null;
}
