import { readAlerts } from "../../alerts/read-alerts.ts";
import type { Clock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { ArchiveCalls } from "../../content/thread-messages.ts";
import { KeyRing } from "../../keys/keyring.ts";
import { storedSummaries } from "../../ledger/stored-accounts.ts";
import type { KeyRecord, Store } from "../../store/store.ts";
import { guardLimits } from "../access/guard-limits.ts";
import { Sessions } from "../access/sessions.ts";
import { storedConversations } from "../content/with-conversation.ts";
import { OperationError } from "../context.ts";
import type { UnmountedDeps } from "../deps.ts";
import { keyPages } from "../key-terms/find-key.ts";
import type { KnownNames } from "../key-terms/known-names.ts";
import { Live } from "../live/live.ts";
import { type LocalOperations, localOperations } from "./local.ts";

interface OpenedData {
  readonly store: Store;
  readonly clock: Clock;
  readonly version: string;
  /** The configuration found here. Throws if it cannot be used. */
  settings(): Settings;
  knownNames(): KnownNames | null;
  readonly content: ArchiveCalls | null;
  /** The error message for an operation that needs a running gateway. */
  readonly noGateway: string;
}

/** Performs the operations in a command's own process, on data that no gateway of this machine serves. */
export async function operationsWithoutGateway(data: OpenedData): Promise<LocalOperations> {
  const { store, clock, noGateway } = data;
  const keys = new KeyRing(clock, await allKeys(store));
  const live = new Live(clock);
  // It measures a gateway's event loop.
  live.lag.stop();
  const none = { nano: 0, tokens: 0 };
  const needsGateway = (): never => {
    throw new OperationError("no_gateway", noGateway);
  };
  const deps: UnmountedDeps = {
    ...data,
    keys,
    live,
    accounts: {
      summaries: (ids) => storedSummaries(store, ids, clock.wallMs()),
      held: () => none,
      overrun: none,
    },
    knowsReserved: false,
    guard: {
      // Without the admin token sessions can only be listed and ended, which is all that commands do.
      tokenHash: "",
      sessions: new Sessions(clock, store.admin.sessions, () => ""),
      tokens: store.admin,
      ...guardLimits(clock),
      proxySignIns: { follow: async () => {} },
      settings: () => data.settings().admin,
    },
    log: { warn: () => {} },
    storedBefore: (keyId, turn) => storedConversations({ store, clock }, data.settings())(keyId, turn),
    droppedContent: () => null,
    droppedSpans: () => 0,
    feed: null,
    configOnDisk: null,
    deploymentHealth: () => [],
    alerts: () => [],
    checkAlerts: async () => (await readAlerts(store, clock.wallMs())).active,
    address: needsGateway,
    inFlight: needsGateway,
    backgroundInFlight: needsGateway,
    lineCounts: needsGateway,
    requestLogDropped: needsGateway,
    flushRequestLog: async () => {},
    oldestExchanges: needsGateway,
    isDraining: needsGateway,
    problem: needsGateway,
    journalStats: needsGateway,
    applyChanges: async () => {},
  };
  return localOperations(deps);
}

async function allKeys(store: Store): Promise<KeyRecord[]> {
  return (await Array.fromAsync(keyPages(store))).flat();
}
