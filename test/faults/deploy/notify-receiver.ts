import { dlopen, FFIType, ptr } from "bun:ffi";

/**
 * Stands in for systemd: a datagram socket at the path that is given, whose messages are printed as JSON, one a
 * line. A process of its own, because waiting for a datagram stops everything else.
 */
const [path = ""] = process.argv.slice(2);
const { i32, i64, u32, u64, ptr: pointer } = FFIType;
const { symbols: library } = dlopen("libc.so.6", {
  socket: { args: [i32, i32, i32], returns: i32 },
  bind: { args: [i32, pointer, u32], returns: i32 },
  recv: { args: [i32, pointer, u64, i32], returns: i64 },
});

const unixFamily = 1;
const datagram = 2;
const descriptor = library.socket(unixFamily, datagram, 0);
const name = Buffer.from(path);
if (path.startsWith("@")) name[0] = 0;
const address = Buffer.from([unixFamily, 0, ...name]);
if (library.bind(descriptor, ptr(address), address.length) !== 0) throw new Error(`cannot listen at ${path}`);
console.log(JSON.stringify("listening"));

const buffer = Buffer.alloc(4096);
for (;;) {
  const length = Number(library.recv(descriptor, ptr(buffer), buffer.length, 0));
  const message = buffer.toString("utf8", 0, length);
  console.log(JSON.stringify(message));
  if (message.startsWith("STOPPING=1")) break;
}
