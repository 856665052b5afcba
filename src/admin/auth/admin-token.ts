import { timingSafeEqual } from "node:crypto";
import { mintSecret } from "../../base/mint-secret.ts";

/** Where a token that Sluice made for itself is remembered, as a hash. */
export interface TokenStore {
  readAdminTokenHash(): Promise<string | null>;
  saveAdminTokenHash(hash: string): Promise<void>;
}

function hashOf(token: string): Uint8Array {
  return new Bun.CryptoHasher("sha256").update(token).digest();
}

/** The operator's token, known only by its hash. */
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

  /** Compares hashes, of equal length, in constant time: how long it takes tells nothing about the token. */
  matches(candidate: string): boolean {
    return timingSafeEqual(hashOf(candidate), this.#hash);
  }
}

interface ReadiedToken {
  readonly token: AdminToken;
  /** A token that was made just now, to be printed once; null when there was one already. */
  readonly made: string | null;
  /** Keeps the hash of a token that was made. Called once it is certain that the token will be told. */
  keep(): Promise<void>;
}

/** The configured token, or the one made at the first start, or a new one. An empty one is none. */
export async function readyAdminToken(configured: string | null, store: TokenStore): Promise<ReadiedToken> {
  if (configured !== null && configured !== "") return known(AdminToken.of(configured));
  const hash = await store.readAdminTokenHash();
  if (hash !== null) return known(AdminToken.ofHash(hash));
  const made = `slua_${mintSecret(32)}`;
  const token = AdminToken.of(made);
  return { token, made, keep: () => store.saveAdminTokenHash(token.hashHex) };
}

function known(token: AdminToken): ReadiedToken {
  return { token, made: null, keep: async () => {} };
}
