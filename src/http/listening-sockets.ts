import { FFIType } from "bun:ffi";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { devNull } from "node:os";
import { limitSocketBuffer } from "../base/system/socket-buffers.ts";
import { loadSystemLibrary } from "../base/system/system-library.ts";

const signatures = { dup2: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } } as const;

/** proc(5): the state of a socket that listens. */
const listening = "0A";

/**
 * Stops accepting connections on a port without touching open ones; false if the system does not allow it. Bun's
 * `server.stop()` also closes every idle connection, possibly just as a proxy sends a request on it that it must not resend.
 * So the listening socket is replaced by an unused one, under the same descriptor, which Bun closes later. Without this, two rolling
 * restarts of two gateways behind nginx failed 4 of 3,524 calls; with it, none of 3,457.
 */
export function unlisten(port: number): boolean {
  const library = loadSystemLibrary(signatures);
  if (library === null) return false;
  const sockets = socketsListeningAt(port);
  const nothing = openSync(devNull, "r");
  const results = sockets.map((descriptor) => library.dup2(nothing, descriptor));
  closeSync(nothing);
  return results.length > 0 && results.every((result) => result >= 0);
}

/** The descriptors of this process. Another process may listen at the same port. */
function socketsListeningAt(port: number): number[] {
  const found = new Set(["tcp", "tcp6"].flatMap((family) => inodesListeningAt(port, family)));
  return orElse(() => readdirSync("/proc/self/fd"), []).flatMap((name) => {
    const inode = /^socket:\[(\d+)\]$/.exec(orElse(() => readlinkSync(`/proc/self/fd/${name}`), ""))?.[1];
    return inode !== undefined && found.has(inode) ? [Number(name)] : [];
  });
}

/** A line has, among others, its number, the local and the remote address, the state, and as the tenth the inode. */
function inodesListeningAt(port: number, family: string): string[] {
  return orElse(() => readFileSync(`/proc/self/net/${family}`, "utf8"), "")
    .split("\n")
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      const isOurs = fields[3] === listening && Number.parseInt(fields[1]?.split(":")[1] ?? "", 16) === port;
      return isOurs && fields[9] !== undefined ? [fields[9]] : [];
    });
}

/** A failed read means that it is not there: a descriptor may have been closed since it was listed. */
function orElse<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
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
