import { dlopen, FFIType, ptr } from "bun:ffi";

/** Whoever started this program and wants to know how it is doing: systemd, or nobody. */
export interface ServiceManager {
  ready(status: string): void;
  reloading(): void;
  stopping(): void;
}

const nobody: ServiceManager = { ready() {}, reloading() {}, stopping() {} };

/**
 * systemd's readiness protocol (sd_notify(3)): datagrams to the socket that it names in the environment. They
 * must come from this very process, so it is no use to start `systemd-notify`; and Bun has no datagram
 * sockets in the file system, so the C library's own are called. A message that cannot be sent is
 * lost in silence, as sd_notify's is: a gateway that works must not fall over its supervisor.
 */
export function serviceManager(env: Readonly<Record<string, string | undefined>>): ServiceManager {
  const path = env["NOTIFY_SOCKET"];
  if (process.platform !== "linux" || path === undefined || !/^[/@]./.test(path)) return nobody;
  const library = loadLibrary();
  const address = socketAddress(path);
  if (library === null || address === null) return nobody;
  const descriptor = library.socket(unixFamily, datagramClosedOnExec, 0);
  const send = (message: string) => {
    const bytes = Buffer.from(message);
    library.sendto(descriptor, ptr(bytes), bytes.length, noSignal, ptr(address), address.length);
  };
  return {
    ready: (status) => send(`READY=1\nSTATUS=${status}`),
    reloading: () => send(`RELOADING=1\nMONOTONIC_USEC=${monotonicUsec(library)}`),
    stopping: () => send("STOPPING=1\nSTATUS=open requests may finish"),
  };
}

const unixFamily = 1;
const datagramClosedOnExec = 2 | 0o2000000;
const noSignal = 0x4000;
const monotonicClock = 1;
const longestPath = 107;

const { i32, i64, u32, u64, ptr: pointer } = FFIType;

const signatures = {
  socket: { args: [i32, i32, i32], returns: i32 },
  sendto: { args: [i32, pointer, u64, i32, pointer, u32], returns: i64 },
  clock_gettime: { args: [i32, pointer], returns: i32 },
} as const;

type Library = ReturnType<typeof dlopen<typeof signatures>>["symbols"];

/** Null where there is no such library: that is no system on which systemd runs. */
function loadLibrary(): Library | null {
  try {
    return dlopen("libc.so.6", signatures).symbols;
  } catch {
    return null;
  }
}

/** systemd compares it with its own clock, to know that the reload is the one it asked for. Bun's begins at 0. */
function monotonicUsec(library: Library): bigint {
  const time = new BigInt64Array(2);
  library.clock_gettime(monotonicClock, ptr(time));
  const [seconds = 0n, nanoseconds = 0n] = time;
  return seconds * 1_000_000n + nanoseconds / 1000n;
}

/** `struct sockaddr_un`. A path that begins with `@` is a name without a file, written with a zero. */
function socketAddress(path: string): Uint8Array | null {
  const name = Buffer.from(path);
  if (name.length > longestPath) return null;
  if (path.startsWith("@")) name[0] = 0;
  // Both machines that Linux runs on here are little-endian; a path in the file system ends with a zero.
  return Buffer.from([unixFamily, 0, ...name, ...(path.startsWith("@") ? [] : [0])]);
}
