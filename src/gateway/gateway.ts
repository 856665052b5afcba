import type { Clock } from "../base/clock.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Settings } from "../config/settings.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { KeyRing } from "../keys/keyring.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { AddressLimiter } from "../limits/address-limiter.ts";
import type { BodyBudget } from "../limits/body-budget.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { ExchangeObserver } from "../observe/exchange.ts";
import type { ExchangeEnding } from "../store/store.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { Ongoing } from "./admission/ongoing.ts";
import type { Watchdog } from "./answer/watchdog.ts";
import type { TokenCounter } from "./charge/bill.ts";
import type { LargeBodies } from "./large/large-bodies.ts";
import type { GivenIds } from "./request/given-ids.ts";

/** What a reload of the configuration replaces, all at once. An exchange keeps what it began with. */
export interface Configured {
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly upstream: Upstream;
}

/** Everything that the way of a request uses; put together in app.ts. */
export interface Gateway {
  configured: Configured;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly rateLimiter: RateLimiter;
  readonly addressLimiter: AddressLimiter;
  /** Memory for bodies that are being read. */
  readonly bodies: BodyBudget;
  /** Where large bodies are parsed, patched and translated. */
  readonly largeBodies: LargeBodies;
  readonly ledger: Ledger;
  readonly idempotency: Idempotency;
  readonly givenIds: GivenIds;
  readonly tokens: TokenCounter;
  readonly watchdog: Watchdog;
  readonly ongoing: Ongoing;
  readonly observe: ExchangeObserver;
  /** Where endings are kept that nothing was charged for. */
  readonly endings: { take(ending: ExchangeEnding): void };
  /** Takes over what other hands have changed about keys and balances, now rather than at the next look. */
  catchUp(): Promise<void>;
  /** Why charges cannot be written, so that nothing new should be sent here; null while they can. */
  storeTrouble(): string | null;
}
