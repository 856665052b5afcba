import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/mint-secret.ts";

export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
const maxSessions = 1000;

/**
 * Sessions of the dashboard. They are kept in memory only: a restart signs everyone out, and no file can leak one.
 * They are looked up by the hash of their id, so that timing says nothing about a valid id.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #endsAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): string {
    const [oldest] = this.#endsAtMs.keys();
    if (oldest !== undefined && this.#endsAtMs.size >= maxSessions) this.#endsAtMs.delete(oldest);
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

  /** Called when the token has changed. */
  endAll(): void {
    this.#endsAtMs.clear();
  }
}

function hashOf(id: string): string {
  return new Bun.CryptoHasher("sha256").update(id).digest("hex");
}
