import type { Clock } from "../../base/clock.ts";
import type { TokenCounter } from "../../catalog/tokens/counter.ts";
import type { ContentRecorder } from "../../content/recorder.ts";
import type { Claims } from "../../idempotency/claims.ts";
import type { KeyRing } from "../../keys/keyring.ts";
import type { Accounts } from "../../ledger/accounts.ts";
import type { AbandonAllowance } from "../../limits/abandon-allowance.ts";
import type { AddressLimiter } from "../../limits/address.ts";
import type { BodyBudget } from "../../limits/body-budget.ts";
import type { RateLimits } from "../../limits/bucket.ts";
import type { ByteLimiter, InflateLimiter } from "../../limits/byte-limiter.ts";
import type { Gates } from "../../limits/concurrency.ts";
import type { LabelValues } from "../../limits/label-values.ts";
import type { RateLimiter } from "../../limits/rate-limiter.ts";
import type { ExchangeObserver } from "../../observe/exchange.ts";
import type { AdminRecords } from "../../store/admin-records.ts";
import type { AttemptCount, CallerId, OutcomeRecord, Store } from "../../store/store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { LargeBodies } from "../body-worker/body-worker.ts";
import type { ProviderIdOwners } from "../references/provider-id-owners.ts";
import type { Backgrounds } from "../turns/backgrounds.ts";
import type { Batches } from "../turns/batches.ts";
import type { EventReaders } from "../turns/event-readers.ts";
import type { Turns } from "../turns/turns.ts";
import type { Ongoing } from "./ongoing.ts";
import type { OpenSockets } from "./open-sockets.ts";
import type { Watchdog } from "./watchdog.ts";

/** Counts tokens locally; never rejects. */
export type LocalCounts = Pick<TokenCounter, "of" | "isLoaded" | "load">;

/** Everything that serving a request needs; put together in `src/app`. */
export interface Gateway {
  configured: ActiveConfig;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly rateLimits: RateLimits;
  /** Requests with `generate: false`, by key. */
  readonly warmUps: RateLimiter;
  readonly addressLimiter: AddressLimiter;
  /** For calls whose client disconnects before any output. */
  readonly abandonAllowance: AbandonAllowance;
  /** For keys that send compressed frames. */
  readonly inflateLimiter: InflateLimiter;
  /** Writes for conversations, which are not charged. */
  readonly conversationWrites: ByteLimiter;
  /** Memory for bodies that are being read. */
  readonly bodies: BodyBudget;
  /** Memory for large responses, from the provider's first megabyte until the client has read all of it. */
  readonly answers: BodyBudget;
  /** Bodies of each key that are read from the store, until the client has read all of them. */
  readonly downloads: Gates;
  readonly eventReaders: EventReaders;
  /** Disk space for forms, until they have a response. */
  readonly forms: BodyBudget;
  /** Slots for forms, which take one of `fetch`, and for message batches: one "byte" each, so that a key leaves as many free as it takes. */
  readonly formSlots: BodyBudget;
  /** Inputs of batches that each key uploads. */
  readonly uploads: Gates;
  /** Parses, patches and translates large bodies. */
  readonly largeBodies: LargeBodies;
  readonly accounts: Accounts;
  readonly claims: Claims;
  readonly idOwners: ProviderIdOwners;
  readonly lastRequestOfSession: Store["lastRequestOfSession"];
  readonly capReads: Pick<Store, "bindingCaps" | "totalsOfValues">;
  readonly playground: AdminRecords["playground"];
  readonly labelValues: LabelValues;
  readonly turns: Turns;
  readonly backgrounds: Backgrounds;
  readonly batches: Batches;
  readonly tokens: LocalCounts;
  /** Records requests and responses; null if that is off. */
  readonly content: ContentRecorder | null;
  readonly watchdog: Watchdog;
  readonly ongoing: Ongoing;
  readonly sockets: OpenSockets;
  /** Counts WebSockets: what the runtime collects for one is as much as its longest message. */
  readonly socketSlots: BodyBudget;
  readonly observe: ExchangeObserver;
  /** Stores the outcomes of exchanges that were not charged. */
  readonly requestLog: { take(record: OutcomeRecord, attempts: readonly AttemptCount[]): void };
  /** Stores the ids that clients gave their calls. */
  readonly callerIds: { take(callerId: CallerId): void };
  /** Reads changes of keys and balances by other processes now, not at the next poll. */
  catchUp(): Promise<void>;
  /** Why charges cannot be written, so that the gateway is not ready; null while they can. */
  storeProblem(): string | null;
}
