import { decryptText, type Encryption, encryptText } from "../../../base/secrets/encrypt.ts";

/** The state that the browser keeps in a cookie while the person is at the identity provider. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** The page to return to after sign-in. */
  readonly returnTo: string;
  readonly endsAtMs: number;
}

export const attemptMinutes = 10;

/**
 * Encrypts the attempt with a key that every gateway of this configuration can derive: any of them can finish a sign-in that
 * another one started, and an attempt cannot be forged.
 */
export function encryptAttempt(attempt: SignInAttempt, clientSecret: string): string {
  return encryptText(Buffer.from(JSON.stringify(attempt)), encryptionBy(clientSecret));
}

/** Null if it was not encrypted here, or has expired. */
export function decryptAttempt(encrypted: string, clientSecret: string, nowMs: number): SignInAttempt | null {
  const content = decryptText(encrypted, encryptionBy(clientSecret));
  if (content === null) return null;
  // It was written by `encryptAttempt`.
  const attempt = JSON.parse(Buffer.from(content).toString("utf8")) as SignInAttempt;
  return attempt.endsAtMs > nowMs ? attempt : null;
}

function encryptionBy(clientSecret: string): Encryption {
  const key = new Bun.CryptoHasher("sha256").update(`sluice sign-in attempt ${clientSecret}`).digest();
  return { key, context: "sign-in attempt", version: 1 };
}
