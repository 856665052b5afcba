const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Two characters at a time: half the steps. */
const pairCount = alphabet.length ** 2;
const firstOfPair = Uint8Array.from({ length: pairCount }, (_, pair) =>
  alphabet.charCodeAt(Math.floor(pair / alphabet.length)),
);
const secondOfPair = Uint8Array.from({ length: pairCount }, (_, pair) =>
  alphabet.charCodeAt(pair % alphabet.length),
);
/** Numbers from here on are thrown away, or the first pairs would come a little more often than the last. */
const usable = Math.floor(65_536 / pairCount) * pairCount;

const poolSize = 2048;
const pool = new Uint16Array(poolSize);
let used = poolSize;

/** Draws from a pool, because asking the system for every few bytes costs more than the rest of an id. */
function randomPair(): number {
  for (;;) {
    if (used === poolSize) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const value = pool[used] as number;
    pool[used] = 0;
    used += 1;
    if (value < usable) return value % pairCount;
  }
}

/** Where a text is put together: joining strings pair by pair costs three times as much. */
const characters = Buffer.alloc(64);

/** Uniform base62, at most 64 characters. */
export function randomBase62(length: number): string {
  for (let at = 0; at < length; at += 2) {
    const pair = randomPair();
    characters[at] = firstOfPair[pair] as number;
    characters[at + 1] = secondOfPair[pair] as number;
  }
  return characters.toString("latin1", 0, length);
}

/** 131 random bits behind a prefix that says what the id is of, such as `req_` or `key_`. */
export function newId(prefix: string): string {
  return prefix + randomBase62(22);
}
