import { FFIType, ptr } from "bun:ffi";
import { loadSystemLibrary } from "./system-library.ts";

/** socket(7): SOL_SOCKET, SO_SNDBUF and SO_RCVBUF. The kernel doubles the value for its own use. */
const socketLevel = 1;
const options = { send: 7, receive: 8 } as const;

const { i32, u32, ptr: pointer } = FFIType;
const signatures = { setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } } as const;

let library: ReturnType<typeof loadSystemLibrary<typeof signatures>> | undefined;
const value = new Int32Array(1);

/** SO_BUF_LOCK, since Linux 5.15: 0 lets the kernel choose again. */
const lockOption = 72;

/** Limits what the kernel buffers for a socket, which Bun does not offer. False if the system does not allow it. */
export function limitSocketBuffer(descriptor: number, which: keyof typeof options, bytes: number): boolean {
  return setOption(descriptor, options[which], bytes);
}

/** Lets the kernel choose again how much it receives. Changes nothing on an older one. */
export function autotuneReceiveBuffer(descriptor: number): void {
  setOption(descriptor, lockOption, 0);
}

function setOption(descriptor: number, option: number, to: number): boolean {
  library ??= loadSystemLibrary(signatures);
  if (library === null) return false;
  value[0] = to;
  return library.setsockopt(descriptor, socketLevel, option, ptr(value), value.byteLength) === 0;
}
