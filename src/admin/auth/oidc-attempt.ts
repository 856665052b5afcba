import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** What a browser keeps while its user is at the identity provider. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** Where they wanted to go. */
  readonly returnTo: string;
  readonly endsAtMs: number;
}

export const attemptMinutes = 10;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Sealed with a key that every gateway of this configuration can derive, so that any of them can finish what another began and nobody
 * else can begin one.
 */
export function seal(attempt: SignInAttempt, clientSecret: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyFrom(clientSecret), nonce);
  const text = Buffer.concat([cipher.update(JSON.stringify(attempt), "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
}

/** Null for anything that was not sealed here, or too long ago. */
export function unseal(sealed: string, clientSecret: string, nowMs: number): SignInAttempt | null {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv("aes-256-gcm", keyFrom(clientSecret), bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
    const attempt = JSON.parse(text.toString("utf8")) as SignInAttempt;
    return attempt.endsAtMs > nowMs ? attempt : null;
  } catch {
    return null;
  }
}

function keyFrom(clientSecret: string): Buffer {
  return createHash("sha256").update(`sluice sign-in attempt ${clientSecret}`).digest();
}
