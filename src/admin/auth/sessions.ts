import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/mint-secret.ts";
import type { SessionRecords } from "../../store/store.ts";
import type { Identity } from "./identity.ts";

export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
const maxSessions = 1000;

/** Sessions of the dashboard. They are looked up by the hash of their id, so that timing says nothing about a valid id. */
export interface Sessions {
  begin(identity: Identity): string | Promise<string>;
  /** Who signed in; null if there is no such session, or it is over. */
  find(id: string): Identity | null | Promise<Identity | null>;
  end(id: string): void | Promise<void>;
  /** Called when the first token has changed. */
  endAll(): void | Promise<void>;
}

interface OwnSession {
  readonly identity: Identity;
  readonly endsAtMs: number;
}

/** Those of a gateway that is alone are kept in memory only: a restart signs everyone out, and no file can leak one. */
export class OwnSessions implements Sessions {
  readonly #clock: Clock;
  readonly #byHash = new Map<string, OwnSession>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(identity: Identity): string {
    const [oldest] = this.#byHash.keys();
    if (oldest !== undefined && this.#byHash.size >= maxSessions) this.#byHash.delete(oldest);
    const id = mintSecret(43);
    this.#byHash.set(hashOf(id), { identity, endsAtMs: this.#clock.monotonicMs() + sessionMs });
    return id;
  }

  find(id: string): Identity | null {
    const hash = hashOf(id);
    const session = this.#byHash.get(hash);
    if (session === undefined) return null;
    if (session.endsAtMs > this.#clock.monotonicMs()) return session.identity;
    this.#byHash.delete(hash);
    return null;
  }

  end(id: string): void {
    this.#byHash.delete(hashOf(id));
  }

  endAll(): void {
    this.#byHash.clear();
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

  async begin(identity: Identity): Promise<string> {
    const id = mintSecret(43);
    const endsAtMs = this.#clock.wallMs() + sessionMs;
    const session = { hash: this.#hashOf(id), identity: JSON.stringify(identity), endsAtMs };
    await this.#records.begin(session, maxSessions);
    return id;
  }

  async find(id: string): Promise<Identity | null> {
    const identity = await this.#records.find(this.#hashOf(id), this.#clock.wallMs());
    // Written by `begin`, of this build or one that understands the same.
    return identity === null ? null : (JSON.parse(identity) as Identity);
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
