import { decryptText, encryptText } from "../../../base/secrets/encrypt.ts";
import type { SignInSettings } from "../../../config/settings.ts";
import { familyOf, hashSecret, newFamily, newRefreshToken, newSecret } from "../../../keys/secret.ts";
import type { AccessToken, RefreshableSignIn, RefreshState, SignIn } from "../../../store/store.ts";

/** The tokens that a program gets for its sign-in. */
export interface TokenPair {
  readonly access: string;
  readonly accessEndsAtMs: number;
  readonly refresh: string;
}

/** Expired tokens are known for as long, so that their owner learns why they are rejected. */
const rememberExpiredMs = 3_600_000;
/** A program that refreshes before each request would otherwise collect them. */
const maxAccessTokens = 50;

interface Age {
  readonly beganAtMs: number;
  readonly nowMs: number;
}

export function mintFirst(terms: SignInSettings, nowMs: number): TokenPair & { readonly familyHash: string } {
  const family = newFamily();
  return { ...mint(family, terms, { beganAtMs: nowMs, nowMs }), familyHash: hashSecret(family) };
}

/** The token that replaces the presented one; null if it is not a refresh token. */
export function mintNext(presented: string, terms: SignInSettings, age: Age): TokenPair | null {
  const family = familyOf(presented);
  return family === null ? null : mint(family, terms, age);
}

function mint(family: string, terms: SignInSettings, { beganAtMs, nowMs }: Age): TokenPair {
  const accessEndsAtMs = Math.min(nowMs + terms.accessTokenMs, beganAtMs + terms.maxAgeMs);
  return { access: newSecret(), accessEndsAtMs, refresh: newRefreshToken(family) };
}

export function accessOf({ access, accessEndsAtMs }: TokenPair): AccessToken {
  return { hash: hashSecret(access), endsAtMs: accessEndsAtMs };
}

/** The state to store when this pair replaces the presented token's. Former access tokens stay valid until they expire. */
export function stateAfter(
  signIn: SignIn,
  presented: string,
  pair: TokenPair,
  nowMs: number,
): RefreshState & Pick<SignIn, "usedAtMs" | "access"> {
  const known = signIn.access.filter(({ endsAtMs }) => endsAtMs > nowMs - rememberExpiredMs);
  return {
    refreshHash: hashSecret(pair.refresh),
    formerHash: hashSecret(presented),
    formerResponse: encryptText(Buffer.from(JSON.stringify(pair)), encryptionBy(presented)),
    usedAtMs: nowMs,
    access: [...known, accessOf(pair)].slice(-maxAccessTokens),
  };
}

/** The response to the former refresh token; only that token decrypts it. */
export function formerPair({ formerResponse }: RefreshableSignIn, presented: string): TokenPair | null {
  const opened = formerResponse === null ? null : decryptText(formerResponse, encryptionBy(presented));
  // Written by `stateAfter`.
  return opened === null ? null : (JSON.parse(Buffer.from(opened).toString()) as TokenPair);
}

function encryptionBy(presented: string) {
  const key = new Bun.CryptoHasher("sha256", presented).update("sluice refresh answer").digest();
  return { key, context: "sluice refresh answer", version: 1 };
}
