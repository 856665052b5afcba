/** Memory that other threads see too. The system provides it only as it is written to, so setting much aside costs nothing. */
export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/** Passing shared memory to another thread costs nothing, whatever its size. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = sharedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Returns the bytes in shared memory, copied only if they are not there yet. */
export function shared(bytes: Uint8Array): Uint8Array {
  return bytes.buffer instanceof SharedArrayBuffer ? bytes : sharedCopy(bytes);
}
