import { timingSafeEqual } from "node:crypto";
import { mintSecret } from "../../base/mint-secret.ts";
import type { AdminRecords } from "../../store/admin-records.ts";

export type TokenStore = Pick<AdminRecords, "readAdminTokenHash" | "saveAdminTokenHash">;

function hashOf(token: string): Uint8Array {
  return new Bun.CryptoHasher("sha256").update(token).digest();
}

export function newToken(): string {
  return `slua_${mintSecret(32)}`;
}

/** The operator's token, kept only as a hash. */
export class AdminToken {
  readonly #hash: Uint8Array;

  private constructor(hash: Uint8Array) {
    this.#hash = hash;
  }

  static of(token: string): AdminToken {
    return new AdminToken(hashOf(token));
  }

  static ofHash(hex: string): AdminToken {
    return new AdminToken(Buffer.from(hex, "hex"));
  }

  get hashHex(): string {
    return Buffer.from(this.#hash).toString("hex");
  }

  /** Compares hashes of equal length in constant time, so that the duration says nothing about the token. */
  matches(candidate: string): boolean {
    return timingSafeEqual(hashOf(candidate), this.#hash);
  }
}

interface LoadedToken {
  readonly token: AdminToken;
  /** A token that was just generated, to be printed once; null if there was one already. */
  readonly generated: string | null;
  /** Saves the hash of a generated token, once it is certain to be shown. Returns the token that is in force then. */
  save(): Promise<AdminToken>;
}

/** The configured token, or the one generated at the first start, or a new one. An empty token counts as not set. */
export async function loadAdminToken(configured: string | null, store: TokenStore): Promise<LoadedToken> {
  if (configured !== null && configured !== "") return existing(AdminToken.of(configured));
  const hash = await store.readAdminTokenHash();
  if (hash !== null) return existing(AdminToken.ofHash(hash));
  const generated = newToken();
  const token = AdminToken.of(generated);
  const save = async () => AdminToken.ofHash(await store.saveAdminTokenHash(token.hashHex));
  return { token, generated, save };
}

function existing(token: AdminToken): LoadedToken {
  return { token, generated: null, save: async () => token };
}
