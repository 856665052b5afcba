import { limitSocketBuffer } from "../base/system/socket-buffers.ts";
import { socketsListeningAt } from "./unlisten.ts";

const sendBufferBytes = 128 * 1024;

/**
 * Limits the kernel's send buffer for a client that does not read. By default it grows to 4 MB for each connection, and
 * all of that has been read from the provider before the gateway learns that the client is slow. Connections inherit
 * the limit from the listening socket, which Bun does not expose. False if the system does not allow it.
 */
export function limitSendBuffers(port: number): boolean {
  const results = socketsListeningAt(port).map((descriptor) =>
    limitSocketBuffer(descriptor, "send", sendBufferBytes),
  );
  return results.length > 0 && results.every(Boolean);
}
