import type { Clock } from "../../base/clock.ts";
import { mintSecret } from "../../base/secrets/mint-secret.ts";
import type { SessionRecord, SessionRecords } from "../../store/store.ts";
import type { Identity } from "./identity.ts";

/** Lifetime of a session that was started with a token. */
export const tokenSessionMs = 12 * 3_600_000;
const maxSessions = 1000;

/** The person's session at the identity provider that signed them in. */
export interface ProviderSession {
  readonly issuer: string;
  /** The provider's id of the person. */
  readonly subject: string;
  /** The provider's id of the session; null if it did not send one. */
  readonly sid: string | null;
  /** Where the person signs out at the provider; null if it has no page for that. */
  readonly signOutUrl: string | null;
}

export interface Session {
  readonly identity: Identity;
  /** Null for a sign-in with a token. */
  readonly provider: ProviderSession | null;
  readonly beganAtMs: number;
}

export interface ListedSession extends Session {
  readonly endsAtMs: number;
}

interface SessionTerms {
  readonly provider: ProviderSession;
  readonly lengthMs: number;
}

/**
 * Sessions of the dashboard. They are looked up by the hash of their id, so that timing reveals nothing about a valid
 * id. The token is part of the hash, so a session that was started with a former token is unknown.
 */
export class Sessions {
  readonly #records: SessionRecords;
  readonly #clock: Clock;
  readonly #nowMs: () => number;
  readonly #tokenHash: () => string;

  /**
   * `shared` is set if several gateways share the sessions: behind a load balancer, the next request may reach a
   * different gateway.
   */
  constructor(clock: Clock, shared: SessionRecords | null, tokenHash: () => string) {
    this.#records = shared ?? new SessionsInMemory();
    this.#clock = clock;
    this.#nowMs = () => (shared === null ? clock.monotonicMs() : clock.wallMs());
    this.#tokenHash = tokenHash;
  }

  /** Returns the id, for the cookie. Without terms it is a sign-in with a token. */
  async begin(identity: Identity, terms: SessionTerms | null = null): Promise<string> {
    const id = `slus_${mintSecret(43)}`;
    const endsAtMs = this.#nowMs() + (terms?.lengthMs ?? tokenSessionMs);
    const session: Session = {
      identity,
      provider: terms?.provider ?? null,
      beganAtMs: this.#clock.wallMs(),
    };
    const record = { hash: this.#hashOf(id), content: JSON.stringify(session), endsAtMs };
    await this.#records.begin(record, maxSessions);
    return id;
  }

  /** Null if the session does not exist or has ended. */
  async find(id: string): Promise<Session | null> {
    const content = await this.#records.find(this.#hashOf(id), this.#nowMs());
    return content === null ? null : sessionFrom(content);
  }

  end(id: string): Promise<void> {
    return this.#records.end(this.#hashOf(id));
  }

  /** Called when the first token has changed. */
  endAll(): Promise<void> {
    return this.#records.endAll();
  }

  /** The sessions that have not ended. */
  async list(): Promise<readonly ListedSession[]> {
    const aheadMs = this.#clock.wallMs() - this.#nowMs();
    const records = await this.#records.list(this.#nowMs());
    return records.map(({ content, endsAtMs }) => ({
      ...sessionFrom(content),
      endsAtMs: endsAtMs + aheadMs,
    }));
  }

  /** Ends the sessions that match, and returns them. */
  async endWhere(matches: (session: Session) => boolean): Promise<readonly Session[]> {
    const ended: Session[] = [];
    for (const { hash, content } of await this.#records.list(this.#nowMs())) {
      const session = sessionFrom(content);
      if (!matches(session)) continue;
      await this.#records.end(hash);
      ended.push(session);
    }
    return ended;
  }

  /** Notes the id of a logout token until `forMs` from now. False if it was noted before. */
  spend(tokenId: string, forMs: number): Promise<boolean> {
    const hash = new Bun.CryptoHasher("sha256").update(tokenId).digest("hex");
    const nowMs = this.#nowMs();
    return this.#records.spend(hash, nowMs + forMs, nowMs);
  }

  #hashOf(id: string): string {
    return new Bun.CryptoHasher("sha256").update(`${id} ${this.#tokenHash()}`).digest("hex");
  }
}

function sessionFrom(content: string): Session {
  // Written by `begin`, of this build or one that understands the same.
  return JSON.parse(content) as Session;
}

/** Maximum number of remembered logout tokens. The oldest are forgotten first. */
const maxSpent = 10_000;

/** The sessions of a single gateway: a restart signs everyone out, and no file can leak a session. */
class SessionsInMemory implements SessionRecords {
  readonly #byHash = new Map<string, SessionRecord>();
  readonly #spent = new Map<string, number>();

  async begin(session: SessionRecord, most: number): Promise<void> {
    const [oldest] = this.#byHash.keys();
    if (oldest !== undefined && this.#byHash.size >= most) this.#byHash.delete(oldest);
    this.#byHash.set(session.hash, session);
  }

  async find(hash: string, nowMs: number): Promise<string | null> {
    const session = this.#byHash.get(hash);
    return session !== undefined && session.endsAtMs > nowMs ? session.content : null;
  }

  async list(nowMs: number): Promise<readonly SessionRecord[]> {
    return [...this.#byHash.values()].filter(({ endsAtMs }) => endsAtMs > nowMs);
  }

  async end(hash: string): Promise<void> {
    this.#byHash.delete(hash);
  }

  async endAll(): Promise<void> {
    this.#byHash.clear();
  }

  async spend(hash: string, untilMs: number, nowMs: number): Promise<boolean> {
    const known = this.#spent.get(hash);
    if (known !== undefined && known > nowMs) return false;
    const [oldest] = this.#spent.keys();
    if (oldest !== undefined && this.#spent.size >= maxSpent) this.#spent.delete(oldest);
    this.#spent.set(hash, untilMs);
    return true;
  }
}
