import { decrypting, type Encryption, encrypting } from "../base/secrets/encrypt.ts";

/** Compressing takes 15 µs at least, more than writing a smaller document. */
const minCompressedBytes = 4_000;
/** 5 KB of prose take 40 µs and become 47 %; level 3 takes 62 µs for 46 %. */
const level = 1;

/** First byte of a packed document: the encoding of the rest. */
const plain = 0;
const compressed = 1;
const encrypted = 2;

/**
 * The document of a request in its stored form, encrypted for the place that its id names. `document` has its JSON
 * after one byte, which is reserved for the packing.
 */
export function pack(document: Uint8Array, id: string, key: Uint8Array | null): Uint8Array {
  document[0] = plain;
  if (document.length <= minCompressedBytes) return encrypt(document, id, key);
  const body = Bun.zstdCompressSync(document.subarray(1), { level });
  return encrypt(Buffer.concat([Buffer.of(compressed), body]), id, key);
}

/** Null if it was encrypted with another key, or is damaged. */
export function unpack(packed: Uint8Array, id: string, key: Uint8Array | null): Uint8Array | null {
  const opened = openedWith(packed, id, key);
  if (opened === null) return null;
  const body = opened.subarray(1);
  if (opened[0] === plain) return body;
  return opened[0] === compressed ? Bun.zstdDecompressSync(body) : null;
}

/** Encrypts a document under another key. Throws if the old key does not open it. */
export function repack(
  packed: Uint8Array,
  id: string,
  from: Uint8Array | null,
  to: Uint8Array | null,
): Uint8Array {
  const opened = openedWith(packed, id, from);
  if (opened === null) throw new Error(`The content of ${id} cannot be decrypted with the old key.`);
  return encrypt(opened, id, to);
}

function encrypt(body: Uint8Array, id: string, key: Uint8Array | null): Uint8Array {
  return key === null ? body : Buffer.concat([...encrypting([body], encryptionOf(id, key))]);
}

function openedWith(packed: Uint8Array, id: string, key: Uint8Array | null): Uint8Array | null {
  if (packed[0] !== encrypted) return packed;
  if (key === null) return null;
  const steps = decrypting(packed, encryptionOf(id, key));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function encryptionOf(id: string, key: Uint8Array): Encryption {
  return { key, context: `content ${id}`, version: encrypted };
}
