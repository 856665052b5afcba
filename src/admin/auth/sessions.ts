import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/mint-secret.ts";
import type { SessionRecords } from "../../store/store.ts";

export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
const maxSessions = 1000;

/** Sessions of the dashboard. They are looked up by the hash of their id, so that timing says nothing about a valid id. */
export interface Sessions {
  begin(): string | Promise<string>;
  isOpen(id: string): boolean | Promise<boolean>;
  end(id: string): void | Promise<void>;
  /** Called when the token has changed. */
  endAll(): void | Promise<void>;
}

/** Those of a gateway that is alone are kept in memory only: a restart signs everyone out, and no file can leak one. */
export class OwnSessions implements Sessions {
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

  endAll(): void {
    this.#endsAtMs.clear();
  }
}

/**
 * Behind a load balancer, a page's next request may reach another gateway: they share the sessions as they share all else.
 * The token is part of the hash, so that sessions which were begun with another one, before a restart, are unknown.
 */
export class SharedSessions implements Sessions {
  readonly #clock: Clock;
  readonly #records: SessionRecords;
  readonly #tokenHash: () => string;

  constructor(clock: Clock, records: SessionRecords, tokenHash: () => string) {
    this.#clock = clock;
    this.#records = records;
    this.#tokenHash = tokenHash;
  }

  async begin(): Promise<string> {
    const id = mintSecret(43);
    await this.#records.begin(this.#hashOf(id), this.#clock.wallMs() + sessionMs, maxSessions);
    return id;
  }

  isOpen(id: string): Promise<boolean> {
    return this.#records.isOpen(this.#hashOf(id), this.#clock.wallMs());
  }

  end(id: string): Promise<void> {
    return this.#records.end(this.#hashOf(id));
  }

  endAll(): Promise<void> {
    return this.#records.endAll();
  }

  #hashOf(id: string): string {
    return hashOf(`${id} ${this.#tokenHash()}`);
  }
}

function hashOf(id: string): string {
  return new Bun.CryptoHasher("sha256").update(id).digest("hex");
}
