import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { KeyRing } from "../keys/keyring.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Store } from "../store/store.ts";
import type { Guard } from "./auth/guard.ts";
import type { Live } from "./live/live.ts";

/** How a deployment is doing, as its breaker sees it. */
export interface DeploymentHealth {
  /** `provider/upstream_model`. */
  readonly name: string;
  readonly state: "closed" | "open" | "half_open";
  /** Wall time until which it is left alone; null when it is not. */
  readonly untilMs: number | null;
  readonly inFlight: number;
  readonly recentAttempts: number;
  readonly recentFailures: number;
}

export interface OpenExchange {
  readonly id: string;
  readonly keyPrefix: string;
  readonly model: string;
  readonly route: string;
  readonly stream: boolean;
  readonly ageMs: number;
}

/** What the admin API needs of the running gateway. */
export interface AdminDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly ledger: Ledger;
  readonly guard: Guard;
  readonly live: Live;
  readonly version: string;
  /** As they stand now: a reload replaces them. */
  settings(): Settings;
  deploymentHealth(): readonly DeploymentHealth[];
  inFlight(): number;
  /** The exchanges that have been open the longest. */
  oldestExchanges(limit: number): readonly OpenExchange[];
  isDraining(): boolean;
  /** The caller's address, trusted proxies taken into account. */
  addressOf(request: Request): string;
  /** Takes what an operation has just changed into the gateway's memory, so that it holds at once. */
  applyChanges(): Promise<void>;
}
