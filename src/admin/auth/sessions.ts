import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/mint-secret.ts";

export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
const mostSessions = 1000;

/**
 * Who is signed in. Sessions live in memory only: a restart signs everybody out, and no file can leak one.
 * They are found by the hash of their id, so that a look-up's timing tells nothing about a valid id.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #endsAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): string {
    const [oldest] = this.#endsAtMs.keys();
    if (oldest !== undefined && this.#endsAtMs.size >= mostSessions) this.#endsAtMs.delete(oldest);
    const id = mintSecret(43);
    this.#endsAtMs.set(hashOf(id), this.#clock.monotonicMs() + sessionMs);
    return id;
  }

  isOpen(id: string): boolean {
    const hash = hashOf(id);
    const endsAtMs = this.#endsAtMs.get(hash);
    if (endsAtMs === undefined) return false;
    if (endsAtMs > this.#clock.monotonicMs()) return true;
    this.#endsAtMs.delete(hash);
    return false;
  }

  end(id: string): void {
    this.#endsAtMs.delete(hashOf(id));
  }

  /** After the token was changed, nobody stays signed in with the old one. */
  endAll(): void {
    this.#endsAtMs.clear();
  }
}

function hashOf(id: string): string {
  return new Bun.CryptoHasher("sha256").update(id).digest("hex");
}
