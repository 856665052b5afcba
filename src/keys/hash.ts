const digest = Buffer.alloc(32);

/**
 * The name under which a key is stored and found. A plain SHA-256 is enough: a key has 178 random bits, so there
 * is nothing to guess, and a slow hash would only slow down every request.
 */
export function hashSecret(secret: string): string {
  Bun.SHA256.hash(secret, digest);
  return digest.toString("hex");
}
