/** Smaller pieces are not worth the call; and where Node's buffers share their memory, they are smaller than this. */
const worthwhileBytes = 8 * 1024;

/**
 * Gives the memory of bytes back that nobody will read again, and takes it away from all who look at them. The
 * garbage collector would do so too, after thousands of others: by then they are out of the processor's caches and
 * the allocator has long taken new memory. A request of 100 KB costs a tenth to a quarter less this way.
 */
export function releaseBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (bytes.byteLength >= worthwhileBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
