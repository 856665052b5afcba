const digest = Buffer.alloc(32);

/**
 * Keys are stored and found by this hash. A plain SHA-256 is enough: a key has 178 random bits, so it cannot be
 * guessed, and a slow hash would only slow down every request.
 */
export function hashSecret(secret: string): string {
  Bun.SHA256.hash(secret, digest);
  return digest.toString("hex");
}
