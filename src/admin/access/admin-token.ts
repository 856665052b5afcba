import { timingSafeEqual } from "node:crypto";
import { mintSecret } from "../../base/secrets/mint-secret.ts";
import { hashSecret } from "../../keys/secret.ts";
import type { AdminRecords } from "../../store/admin-records.ts";

export type TokenStore = Pick<AdminRecords, "readAdminToken" | "saveAdminToken">;

export function newToken(): string {
  return `slua_${mintSecret(32)}`;
}

export function isToken(hash: string, candidate: string): boolean {
  return isSameHash(hash, hashSecret(candidate));
}

/** Compares hashes of equal length in constant time, so that the duration says nothing about the token. */
export function isSameHash(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

interface LoadedToken {
  readonly tokenHash: string;
  /** A token that was just generated, to be printed once; null if there was one already. */
  readonly generated: string | null;
  /** Whether the generated token replaces a trial's. */
  readonly endsTrial: boolean;
  /** Saves the hash of a generated token, once the token is certain to be shown. Returns the hash that is then valid. */
  save(): Promise<string>;
}

interface TokenSource {
  /** An empty token counts as not set. */
  readonly configured: string | null;
  /** Whether only the demo is served. The token of a trial is not used with real providers. */
  readonly isTrial: boolean;
}

/** The configured token, or the one generated at the first start, or a new one. */
export async function loadAdminToken(
  { configured, isTrial }: TokenSource,
  store: TokenStore,
): Promise<LoadedToken> {
  const stored = configured ? null : await store.readAdminToken();
  const isUsable = stored !== null && (isTrial || !stored.isTrial);
  const known = configured ? hashSecret(configured) : isUsable ? stored.hash : null;
  if (known !== null) return { tokenHash: known, generated: null, endsTrial: false, save: async () => known };
  const generated = newToken();
  const tokenHash = hashSecret(generated);
  const save = () => store.saveAdminToken({ hash: tokenHash, isTrial });
  return { tokenHash, generated, endsTrial: stored !== null, save };
}
