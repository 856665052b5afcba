import type { Claims } from "../idempotency/claims.ts";
import type { Accounts } from "../ledger/accounts.ts";
import type { RateLimits } from "../limits/bucket.ts";
import type { AttachedGateway } from "../store/node.ts";
import type { KeyRecord, SignIn, Store, StoreProblem, StoreStats } from "../store/store.ts";

/** The gateway's persistent state, opened as one. No other module depends on which database it is. */
export interface Backend {
  readonly store: Store;
  readonly accounts: Accounts;
  readonly rateLimits: RateLimits;
  readonly claims: Claims;
  /** This process, among those that use the store. It changes if another one takes it for dead. */
  readonly node: number;
  /** All keys, as of this revision of the store. */
  readonly keys: readonly KeyRecord[];
  readonly signIns: readonly SignIn[];
  readonly revision: number;
  /** How often to look for other gateways' changes; null if only this gateway writes. */
  readonly changesEveryMs: number | null;
  /** Why the gateway must reject requests; null while it accepts them. */
  readonly problem: StoreProblem | null;
  /** How far the database's clock is ahead of this machine's; 0 while they agree, and for SQLite. */
  readonly clockOffsetMs: number;
  readonly stats: Readonly<StoreStats>;
  /** What would be lost if the process ended now, in sentences. */
  describeLosses(): readonly string[];
  /** Called once, when the gateway is built. Shares its requests in flight with other nodes, which can force it to end. */
  attach(gateway: AttachedGateway): void;
  /** Writes everything that waits, then closes. Nothing may be under way any more. */
  close(): Promise<void>;
}
