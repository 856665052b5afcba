import type { Clock } from "../base/clock.ts";
import type { SignIn } from "../store/store.ts";
import { hashSecret } from "./secret.ts";

export interface PresentedToken {
  readonly signIn: SignIn;
  /** Why it is not valid; null if it is. */
  readonly problem: "ended" | "expired" | null;
}

/** The access tokens of all sign-ins. */
export class SignInTokens {
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
