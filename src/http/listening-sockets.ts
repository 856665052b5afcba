import { FFIType, ptr } from "bun:ffi";
import { closeSync, existsSync, openSync, readdirSync } from "node:fs";
import { devNull } from "node:os";
import { limitSocketBuffer } from "../base/system/socket-buffers.ts";
import { loadSystemLibrary } from "../base/system/system-library.ts";

const { i32, ptr: pointer } = FFIType;
const signatures = {
  dup2: { args: [i32, i32], returns: i32 },
  getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
  getsockname: { args: [i32, pointer, pointer], returns: i32 },
} as const;
type Library = NonNullable<ReturnType<typeof loadSystemLibrary<typeof signatures>>>;

/** socket(7): SOL_SOCKET and SO_ACCEPTCONN, whether a socket listens. */
const socketLevel = 1;
const listeningOption = 30;
/** ip(7) and ipv6(7): AF_INET and AF_INET6. */
const families = [2, 10];

const descriptors = "/proc/self/fd";

/**
 * Stops accepting connections on a port without touching open ones; false if the system does not allow it. Bun's
 * `server.stop()` also closes every idle connection, possibly just as a proxy sends a request on it that it must not resend.
 * So the listening socket is replaced by an unused one, under the same descriptor, which Bun closes later. Without this, two rolling
 * restarts of two gateways behind nginx failed 4 of 3,524 calls; with it, none of 3,457.
 */
export function unlisten(port: number): boolean {
  const library = loadSystemLibrary(signatures);
  if (library === null) return false;
  const sockets = socketsListeningAt(port, library);
  const nothing = openSync(devNull, "r");
  const results = sockets.map((descriptor) => library.dup2(nothing, descriptor));
  closeSync(nothing);
  return results.length > 0 && results.every((result) => result >= 0);
}

/**
 * The descriptors of this process. Another process may listen at the same port. Sockets are asked one by one, because the
 * kernel's list (/proc/net/tcp) has every connection of the machine: with 1,100 of them it took 15 ms of each start and stop.
 */
function socketsListeningAt(port: number, library = loadSystemLibrary(signatures)): number[] {
  if (library === null || !existsSync(descriptors)) return [];
  return readdirSync(descriptors)
    .map(Number)
    .filter((descriptor) => isListening(descriptor, library) && portOf(descriptor, library) === port);
}

function isListening(descriptor: number, { getsockopt }: Library): boolean {
  const value = new Int32Array(1);
  const length = new Uint32Array([value.byteLength]);
  return (
    getsockopt(descriptor, socketLevel, listeningOption, ptr(value), ptr(length)) === 0 && value[0] === 1
  );
}

/** Null for a socket of a different family. An address starts with its family and, in the order of the network, its port. */
function portOf(descriptor: number, { getsockname }: Library): number | null {
  const address = new DataView(new ArrayBuffer(128));
  const length = new Uint32Array([address.byteLength]);
  if (getsockname(descriptor, ptr(address), ptr(length)) !== 0) return null;
  return families.includes(address.getUint16(0, true)) ? address.getUint16(2) : null;
}

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
