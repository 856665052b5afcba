import { FFIType, ptr } from "bun:ffi";
import { loadSystemLibrary } from "../base/system-library.ts";
import { socketsListeningAt } from "./unlisten.ts";

/** socket(7): SOL_SOCKET and SO_SNDBUF. The kernel doubles the value for its own use. */
const socketLevel = 1;
const sendBufferOption = 7;
const sendBufferBytes = Int32Array.of(256 * 1024);

const { i32, u32, ptr: pointer } = FFIType;
const signatures = { setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } } as const;

/**
 * Limits what the kernel takes for a client that does not read. By default that grows to 4 MB for each connection, and all of it has
 * been read from the provider before the gateway learns that the client is behind. Connections inherit the limit from the
 * socket that listens, which Bun does not expose. False if the system does not allow it.
 */
export function limitSendBuffers(port: number): boolean {
  const library = loadSystemLibrary(signatures);
  if (library === null) return false;
  const results = socketsListeningAt(port).map((descriptor) =>
    library.setsockopt(
      descriptor,
      socketLevel,
      sendBufferOption,
      ptr(sendBufferBytes),
      sendBufferBytes.byteLength,
    ),
  );
  return results.length > 0 && results.every((result) => result === 0);
}
