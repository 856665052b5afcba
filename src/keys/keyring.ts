import type { Clock } from "../base/clock.ts";
import type { AccountRecord, Changes, KeyRecord, SignIn, StoredKeyStatus } from "../store/store.ts";
import { hashSecret, looksLikeKey } from "./secret.ts";

/** All keys and access tokens in memory, found by the hash of the presented secret without a query to the store. */
export class KeyRing {
  readonly #clock: Clock;
  readonly #byHash = new Map<string, KeyRecord>();
  readonly #byId = new Map<string, KeyRecord>();
  readonly signIns: SignInTokens;
  /**
   * Accounts changed since the start. Their keys take over the new terms when they are looked up: an account may have
   * thousands of keys.
   */
  readonly #changedAccounts = new Map<string, AccountRecord>();

  constructor(clock: Clock, keys: readonly KeyRecord[], signIns: readonly SignIn[] = []) {
    this.#clock = clock;
    this.signIns = new SignInTokens(clock);
    this.signIns.apply(signIns);
    for (const key of keys) this.#put(key);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Null unless the secret is valid. The caller has to check the key's status. */
  find(presented: string): KeyRecord | null {
    // The checksum is not needed here: known secrets have a valid one, and callers check it for unknown ones.
    if (!looksLikeKey(presented)) return null;
    const hash = hashSecret(presented);
    const key = this.#byHash.get(hash);
    if (key === undefined) return this.#ofSignIn(hash);
    if (key.hash === hash) return this.#current(key);
    const graceIsOver = key.previousUntilMs === null || key.previousUntilMs <= this.#clock.wallMs();
    return graceIsOver ? null : this.#current(key);
  }

  #ofSignIn(hash: string): KeyRecord | null {
    const found = this.signIns.find(hash);
    return found === null || found.problem !== null ? null : this.byId(found.signIn.keyId);
  }

  byId(keyId: string): KeyRecord | null {
    const key = this.#byId.get(keyId);
    return key === undefined ? null : this.#current(key);
  }

  *all(): Iterable<KeyRecord> {
    for (const key of this.#byId.values()) yield this.#current(key);
  }

  apply(changes: Pick<Changes, "keys" | "accounts"> & Partial<Pick<Changes, "signIns">>): void {
    this.signIns.apply(changes.signIns ?? []);
    for (const account of changes.accounts) this.#changedAccounts.set(account.id, account);
    for (const key of changes.keys) {
      const before = this.#byId.get(key.id);
      if (before !== undefined) this.#forget(before);
      this.#put(key);
    }
  }

  /**
   * Account changes are applied together with or before changes to its keys, so the account's terms are never older
   * than the key's.
   */
  #current(key: KeyRecord): KeyRecord {
    const account = this.#changedAccounts.get(key.accountId);
    if (account === undefined || hasTermsOf(key, account)) return key;
    const current = withTermsOf(key, account);
    this.#put(current);
    return current;
  }

  #put(key: KeyRecord): void {
    this.#byId.set(key.id, key);
    this.#byHash.set(key.hash, key);
    if (key.previousHash !== null) this.#byHash.set(key.previousHash, key);
  }

  #forget(key: KeyRecord): void {
    this.#byHash.delete(key.hash);
    if (key.previousHash !== null) this.#byHash.delete(key.previousHash);
  }
}

/** Whether a key's record has the account's current terms. */
function hasTermsOf(key: KeyRecord, account: AccountRecord): boolean {
  return (
    key.isPostpaid === account.isPostpaid &&
    key.isClosed === (account.closedAtMs !== null) &&
    key.budgetTokens === account.budgetTokens &&
    key.period === account.period &&
    key.accountContent === account.content &&
    key.accountTags === account.tags &&
    key.accountTpmLimits === account.tpmLimits
  );
}

function withTermsOf(key: KeyRecord, account: AccountRecord): KeyRecord {
  const { isPostpaid, closedAtMs, budgetTokens, period, content, tags, tpmLimits } = account;
  const terms = { isPostpaid, isClosed: closedAtMs !== null, budgetTokens, period };
  return { ...key, ...terms, accountContent: content, accountTags: tags, accountTpmLimits: tpmLimits };
}

type KeyStatus = StoredKeyStatus | "expired";

/**
 * Expiry is derived from the clock and never stored, so a new expiry date revives the key. Keys of a closed account
 * count as disabled.
 */
export function effectiveStatus(key: KeyRecord, nowMs: number): KeyStatus {
  if (key.isClosed && key.status === "active") return "disabled";
  const hasExpired = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return key.status === "active" && hasExpired ? "expired" : key.status;
}

const reachable: Readonly<Record<StoredKeyStatus, readonly StoredKeyStatus[]>> = {
  active: ["disabled", "suspended", "revoked"],
  disabled: ["active", "revoked"],
  suspended: ["active", "revoked"],
  revoked: [],
};

/** Whether an operator may change a key from one status to another. Keeping it is always allowed; revoked is final. */
export function mayBecome(from: StoredKeyStatus, to: StoredKeyStatus): boolean {
  return from === to || reachable[from].includes(to);
}

interface PresentedToken {
  readonly signIn: SignIn;
  /** Why it is not valid; null if it is. */
  readonly problem: "ended" | "expired" | null;
}

/** The access tokens of all sign-ins. */
class SignInTokens {
  readonly #clock: Clock;
  readonly #byId = new Map<string, SignIn>();
  readonly #byHash = new Map<string, SignIn>();
  readonly #keyIds = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether sign-ins use this key. Its own secret was never issued, so clients only have access tokens for it. */
  use(keyId: string): boolean {
    return this.#keyIds.has(keyId);
  }

  /** Null for anything but an access token that is valid or was recently. */
  ofToken(presented: string): PresentedToken | null {
    return this.find(hashSecret(presented));
  }

  find(hash: string): PresentedToken | null {
    const signIn = this.#byHash.get(hash);
    if (signIn === undefined) return null;
    const endsAtMs = signIn.access.find((token) => token.hash === hash)?.endsAtMs ?? 0;
    const isExpired = endsAtMs <= this.#clock.wallMs();
    return { signIn, problem: signIn.endedAtMs !== null ? "ended" : isExpired ? "expired" : null };
  }

  apply(signIns: readonly SignIn[]): void {
    for (const signIn of signIns) {
      for (const { hash } of this.#byId.get(signIn.id)?.access ?? []) this.#byHash.delete(hash);
      this.#byId.set(signIn.id, signIn);
      this.#keyIds.add(signIn.keyId);
      for (const { hash } of signIn.access) this.#byHash.set(hash, signIn);
    }
  }
}
