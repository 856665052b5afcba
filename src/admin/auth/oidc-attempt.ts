import { type Seal, sealText, unsealText } from "../../base/secrets/seal.ts";

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

/**
 * Encrypts the attempt with a key that every gateway of this configuration can derive: any of them can finish a sign-in that
 * another one started, and an attempt cannot be forged.
 */
export function sealAttempt(attempt: SignInAttempt, clientSecret: string): string {
  return sealText(Buffer.from(JSON.stringify(attempt)), sealBy(clientSecret));
}

/** Null for anything that was not sealed here, or too long ago. */
export function openAttempt(sealed: string, clientSecret: string, nowMs: number): SignInAttempt | null {
  const content = unsealText(sealed, sealBy(clientSecret));
  if (content === null) return null;
  // It was written by `sealAttempt`.
  const attempt = JSON.parse(Buffer.from(content).toString("utf8")) as SignInAttempt;
  return attempt.endsAtMs > nowMs ? attempt : null;
}

function sealBy(clientSecret: string): Seal {
  const key = new Bun.CryptoHasher("sha256").update(`sluice sign-in attempt ${clientSecret}`).digest();
  return { key, context: "sign-in attempt", version: 1 };
}
