import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/secrets/mint-secret.ts";
import type { SessionRecord, SessionRecords } from "../../store/store.ts";
import type { Identity } from "./identity.ts";

export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
const maxSessions = 1000;

/**
 * Sessions of the dashboard. They are looked up by the hash of their id, so that timing says nothing about a valid id. The token
 * is part of the hash, so that sessions which were begun with another one, before a restart, are unknown.
 */
export class Sessions {
  readonly #records: SessionRecords;
  readonly #nowMs: () => number;
  readonly #tokenHash: () => string;

  /**
   * `shared` is set if several gateways share the sessions: behind a load balancer the next request may reach another
   * one.
   */
  constructor(clock: Clock, shared: SessionRecords | null, tokenHash: () => string) {
    this.#records = shared ?? new SessionsInMemory();
    this.#nowMs = () => (shared === null ? clock.monotonicMs() : clock.wallMs());
    this.#tokenHash = tokenHash;
  }

  async begin(identity: Identity): Promise<string> {
    const id = `slus_${mintSecret(43)}`;
    const endsAtMs = this.#nowMs() + sessionMs;
    const session = { hash: this.#hashOf(id), identity: JSON.stringify(identity), endsAtMs };
    await this.#records.begin(session, maxSessions);
    return id;
  }

  /** Who signed in; null if the session does not exist or has ended. */
  async find(id: string): Promise<Identity | null> {
    const identity = await this.#records.find(this.#hashOf(id), this.#nowMs());
    // Written by `begin`, of this build or one that understands the same.
    return identity === null ? null : (JSON.parse(identity) as Identity);
  }

  end(id: string): Promise<void> {
    return this.#records.end(this.#hashOf(id));
  }

  /** Called when the first token has changed. */
  endAll(): Promise<void> {
    return this.#records.endAll();
  }

  #hashOf(id: string): string {
    return new Bun.CryptoHasher("sha256").update(`${id} ${this.#tokenHash()}`).digest("hex");
  }
}

/** The sessions of a gateway that runs alone: a restart signs everyone out, and no file can leak one. */
class SessionsInMemory implements SessionRecords {
  readonly #byHash = new Map<string, SessionRecord>();

  async begin(session: SessionRecord, most: number): Promise<void> {
    const [oldest] = this.#byHash.keys();
    if (oldest !== undefined && this.#byHash.size >= most) this.#byHash.delete(oldest);
    this.#byHash.set(session.hash, session);
  }

  async find(hash: string, nowMs: number): Promise<string | null> {
    const session = this.#byHash.get(hash);
    return session !== undefined && session.endsAtMs > nowMs ? session.identity : null;
  }

  async end(hash: string): Promise<void> {
    this.#byHash.delete(hash);
  }

  async endAll(): Promise<void> {
    this.#byHash.clear();
  }
}
