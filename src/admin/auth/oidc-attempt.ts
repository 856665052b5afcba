import { sealText, unsealText } from "../../base/seal.ts";

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
const version = 1;
const context = "sign-in attempt";

/**
 * Sealed with a key that every gateway of this configuration can derive, so that any of them can finish what another began and nobody
 * else can begin one.
 */
export function sealAttempt(attempt: SignInAttempt, clientSecret: string): string {
  const content = Buffer.from(JSON.stringify(attempt));
  return sealText(content, keyFrom(clientSecret), context, version);
}

/** Null for anything that was not sealed here, or too long ago. */
export function openAttempt(sealed: string, clientSecret: string, nowMs: number): SignInAttempt | null {
  const content = unsealText(sealed, keyFrom(clientSecret), context, version);
  if (content === null) return null;
  // It was written by `sealAttempt`.
  const attempt = JSON.parse(Buffer.from(content).toString("utf8")) as SignInAttempt;
  return attempt.endsAtMs > nowMs ? attempt : null;
}

function keyFrom(clientSecret: string): Uint8Array {
  return new Bun.CryptoHasher("sha256").update(`sluice sign-in attempt ${clientSecret}`).digest();
}
