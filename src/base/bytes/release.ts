/** Smaller buffers do not repay the call. Those that share Node's buffer pool are smaller than this. */
const worthwhileBytes = 8 * 1024;

/**
 * Frees the memory of bytes that will not be read again; every view of them becomes empty. The garbage collector
 * would free it much later, when it is no longer in the CPU caches and the allocator has taken new memory. A request of
 * 100 KB takes a tenth to a quarter less time this way.
 */
export function releaseBytes(bytes: Uint8Array): void {
  // The length comes first: asking for the buffer of a small array makes one for it, which takes 1.7 µs.
  if (bytes.byteLength >= worthwhileBytes && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}
