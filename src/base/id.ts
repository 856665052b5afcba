const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Characters are drawn in pairs, which halves the number of draws. */
const pairCount = alphabet.length ** 2;
const firstOfPair = Uint8Array.from({ length: pairCount }, (_, pair) =>
  alphabet.charCodeAt(Math.floor(pair / alphabet.length)),
);
const secondOfPair = Uint8Array.from({ length: pairCount }, (_, pair) =>
  alphabet.charCodeAt(pair % alphabet.length),
);
/** Numbers from here on are rejected; otherwise the first pairs would be slightly more likely than the others. */
const usable = Math.floor(65_536 / pairCount) * pairCount;

const poolSize = 2048;
const pool = new Uint16Array(poolSize);
let used = poolSize;

/** Draws from a pool, because a system call for a few bytes takes longer than the rest of an id. */
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

const idLength = 22;
/** A reused buffer: concatenating strings takes three times as long. */
const characters = Buffer.alloc(idLength);

const ownForm = /^[a-z]+[_-][0-9A-Za-z]{22}$/;

/** Whether an id has the form of our own ids, which no vendor uses. */
export function isOwnId(id: string): boolean {
  return ownForm.test(id);
}

const conversationPrefix = "conv_";

export function newConversationId(): string {
  return newId(conversationPrefix);
}

export function isConversationId(id: string): boolean {
  return id.startsWith(conversationPrefix);
}

/** 131 random bits after a prefix that says what the id belongs to, such as `req_` or `key_`. Not for secrets. */
export function newId(prefix: string): string {
  for (let at = 0; at < idLength; at += 2) {
    const pair = randomPair();
    characters[at] = firstOfPair[pair] as number;
    characters[at + 1] = secondOfPair[pair] as number;
  }
  return prefix + characters.toString("latin1", 0, idLength);
}

/** Vendors' ids of this form are stored as they are. */
const usualId = /^[\w-]{1,64}$/;

/**
 * The lookup key of a foreign id. Most begin with a time, so that new rows are next to each other: digests would touch
 * a page of the index each, which takes as long as the rest of the row.
 */
export function idKey(id: string): string {
  return usualId.test(id) ? id : idDigest(id);
}

/** Replaces an id of unusual form, so that rows stay short whatever a provider sends. */
export function idDigest(id: string): string {
  return Bun.SHA256.hash(id, "hex").slice(0, 32);
}
