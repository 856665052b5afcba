import type { Alert } from "../alerts/alert.ts";
import type { Clock } from "../base/clock.ts";
import type { ConfigOnDisk } from "../config/on-disk.ts";
import type { Settings } from "../config/settings.ts";
import type { RecordedTurn } from "../content/recorded-turn.ts";
import type { ArchiveCalls } from "../content/thread-messages.ts";
import type { FeedSender } from "../feed/sender.ts";
import type { LineCounts } from "../gateway/turns/batches.ts";
import type { KeyRing } from "../keys/keyring.ts";
import type { Accounts } from "../ledger/accounts.ts";
import type { Log } from "../observe/log.ts";
import type { Store, StoreProblem, StoreStats } from "../store/store.ts";
import type { DeploymentHealth } from "../upstream/upstream.ts";
import type { CallerAddress, Guard } from "./access/guard.ts";
import type { KnownNames } from "./key-terms/known-names.ts";
import type { Live } from "./live/live.ts";
import type { InFlightView } from "./requests/schema.ts";

/** Information about a request's connection from the HTTP server, and actions on it. */
export interface Connections {
  /** The origin of a request, with trusted proxies taken into account. */
  originOf(request: Request): CallerAddress;
  /** Lets a request take longer than connections may be idle. */
  keepWaiting(request: Request): void;
}

/** All dependencies except the HTTP server, which is created later. */
export type UnmountedDeps = Omit<AdminDeps, keyof Connections>;

export interface AdminDeps extends Connections {
  readonly store: Store;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly accounts: Pick<Accounts, "summaries" | "held" | "overrun">;
  /** Whether `accounts` knows what open requests have reserved, which only a gateway does. */
  readonly knowsReserved: boolean;
  /** The names that keys can be limited to; null if they are not known. */
  knownNames(): KnownNames | null;
  readonly guard: Guard;
  readonly log: Pick<Log, "warn">;
  readonly live: Live;
  /** Recorded content; null if none is recorded. */
  readonly content: ArchiveCalls | null;
  /** Requests that lost their recorded or traced content; null if nothing is recorded. */
  droppedContent(): number | null;
  droppedSpans(): number;
  /** Pushes the ledger's feed; null without a gateway. */
  readonly feed: Pick<FeedSender, "state" | "posts"> | null;
  /** The stored items that a recorded request continued, as a JSON list; null if there are none. */
  storedBefore(keyId: string, turn: RecordedTurn): Promise<string | null>;
  readonly version: string;
  /** Where the gateway listens; empty before it does. */
  address(): string;
  /** The current settings; a reload replaces them. */
  settings(): Settings;
  /** Null if the settings did not come from a file. */
  readonly configOnDisk: ConfigOnDisk | null;
  deploymentHealth(): readonly DeploymentHealth[];
  /** The active alerts, as of the last check. */
  alerts(): readonly Alert[];
  /** The alerts of this moment. */
  checkAlerts(): Promise<readonly Alert[]>;
  inFlight(): number;
  /** Responses in the background that run here. */
  backgroundInFlight(): number;
  /** What became of lines of batches here, since the start. */
  lineCounts(): LineCounts;
  /** Outcomes neither stored nor counted since the start. */
  requestLogDropped(): number;
  /** Writes queued outcomes, so that a report includes what has just ended. */
  flushRequestLog(): Promise<void>;
  oldestExchanges(limit: number): readonly InFlightView[];
  isDraining(): boolean;
  /** Why the gateway rejects requests; null while it accepts them. */
  problem(): StoreProblem | null;
  /** Counters of the journal. */
  journalStats(): Readonly<StoreStats>;
  /** Loads what an operation has just changed into memory, so that it takes effect at once. */
  applyChanges(): Promise<void>;
}
