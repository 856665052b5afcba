const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const poolSize = 4096;
const pool = new Uint8Array(poolSize);
let used = poolSize;

/** Draws from a pool, because asking the system for every few bytes costs more than the rest of an id. */
function randomByte(): number {
  if (used === poolSize) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const value = pool[used] as number;
  pool[used] = 0;
  used += 1;
  return value;
}

/** Uniform base62: bytes of 248 and above are thrown away, since 248 is the largest multiple of 62 in a byte. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    const byte = randomByte();
    if (byte < 248) text += alphabet[byte % 62];
  }
  return text;
}

/** 131 random bits behind a prefix that says what the id is of, such as `req_` or `key_`. */
export function newId(prefix: string): string {
  return prefix + randomBase62(22);
}
