import { FFIType, ptr } from "bun:ffi";
import { loadSystemLibrary } from "../../base/system/system-library.ts";

/** The service manager that started this program: systemd, or none. */
export interface ServiceManager {
  ready(status: string): void;
  reloading(): void;
  stopping(): void;
}

const noManager: ServiceManager = { ready() {}, reloading() {}, stopping() {} };

/**
 * systemd's readiness protocol (sd_notify(3)): datagrams to the socket named in the environment. They must come from
 * this process, so `systemd-notify` cannot be used. Bun has no Unix datagram sockets, so the C library is called. A
 * message that cannot be sent is dropped silently, as sd_notify does: a working gateway must not fail because of its
 * supervisor.
 */
export function serviceManager(env: Readonly<Record<string, string | undefined>>): ServiceManager {
  const path = env["NOTIFY_SOCKET"];
  if (path === undefined || !/^[/@]./.test(path)) return noManager;
  const library = loadSystemLibrary(signatures);
  const address = socketAddress(path);
  // Without Linux's C library there is no systemd either.
  if (library === null || address === null) return noManager;
  const descriptor = library.socket(unixFamily, datagramClosedOnExec, 0);
  const send = (message: string) => {
    const bytes = Buffer.from(message);
    library.sendto(descriptor, ptr(bytes), bytes.length, noSignal, ptr(address), address.length);
  };
  return {
    ready: (status) => send(`READY=1\nSTATUS=${status}`),
    reloading: () => send(`RELOADING=1\nMONOTONIC_USEC=${monotonicUsec(library)}`),
    stopping: () => send("STOPPING=1\nSTATUS=draining requests"),
  };
}

const unixFamily = 1;
const datagramClosedOnExec = 2 | 0o2000000;
const noSignal = 0x4000;
const monotonicClock = 1;
const maxPathLength = 107;

const { i32, i64, u32, u64, ptr: pointer } = FFIType;

const signatures = {
  socket: { args: [i32, i32, i32], returns: i32 },
  sendto: { args: [i32, pointer, u64, i32, pointer, u32], returns: i64 },
  clock_gettime: { args: [i32, pointer], returns: i32 },
} as const;

type Library = NonNullable<ReturnType<typeof loadSystemLibrary<typeof signatures>>>;

/** systemd compares it with its own monotonic clock to match the reload it requested. Bun's clock starts at 0. */
function monotonicUsec(library: Library): bigint {
  const time = new BigInt64Array(2);
  library.clock_gettime(monotonicClock, ptr(time));
  const [seconds = 0n, nanoseconds = 0n] = time;
  return seconds * 1_000_000n + nanoseconds / 1000n;
}

/** `struct sockaddr_un`. A leading `@` means an abstract address, which starts with a zero byte. */
function socketAddress(path: string): Uint8Array | null {
  const name = Buffer.from(path);
  if (name.length > maxPathLength) return null;
  if (path.startsWith("@")) name[0] = 0;
  // All supported Linux platforms are little-endian. A file system path ends with a zero byte.
  return Buffer.from([unixFamily, 0, ...name, ...(path.startsWith("@") ? [] : [0])]);
}
