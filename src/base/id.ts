const alphabet = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"];
/** Two characters at a time: half the steps, and half the strings on the way. */
const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));
/** Numbers from here on are thrown away, or the first pairs would come a little more often than the last. */
const usable = Math.floor(65_536 / pairs.length) * pairs.length;

const poolSize = 2048;
const pool = new Uint16Array(poolSize);
let used = poolSize;

/** Draws from a pool, because asking the system for every few bytes costs more than the rest of an id. */
function randomPair(): string {
  for (;;) {
    if (used === poolSize) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const value = pool[used] as number;
    pool[used] = 0;
    used += 1;
    if (value < usable) return pairs[value % pairs.length] as string;
  }
}

/** Uniform base62. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length + 1 < length) text += randomPair();
  return text.length < length ? text + randomPair().charAt(0) : text;
}

/** 131 random bits behind a prefix that says what the id is of, such as `req_` or `key_`. */
export function newId(prefix: string): string {
  return prefix + randomBase62(22);
}
