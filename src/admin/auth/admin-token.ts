import { timingSafeEqual } from "node:crypto";
import { mintSecret } from "../../base/secrets/mint-secret.ts";
import { hashSecret } from "../../keys/secret.ts";
import type { AdminRecords } from "../../store/admin-records.ts";

export type TokenStore = Pick<AdminRecords, "readAdminTokenHash" | "saveAdminTokenHash">;

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
  /** Saves the hash of a generated token, once the token is certain to be shown. Returns the hash that is then valid. */
  save(): Promise<string>;
}

/** The configured token, or the one generated at the first start, or a new one. An empty token counts as not set. */
export async function loadAdminToken(configured: string | null, store: TokenStore): Promise<LoadedToken> {
  const known = configured ? hashSecret(configured) : await store.readAdminTokenHash();
  if (known !== null) return { tokenHash: known, generated: null, save: async () => known };
  const generated = newToken();
  const tokenHash = hashSecret(generated);
  return { tokenHash, generated, save: () => store.saveAdminTokenHash(tokenHash) };
}
