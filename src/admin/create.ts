import type { AlertMonitor } from "../alerts/monitor.ts";
import type { Backend } from "../backend/backend.ts";
import type { ConfigOnDisk, ReloadConsent } from "../config/on-disk.ts";
import type { Settings } from "../config/settings.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { storedBefore } from "../gateway/turns/stored-before.ts";
import { hashSecret } from "../keys/secret.ts";
import type { Log } from "../observe/log.ts";
import type { CallerIdQueue } from "../store/caller-id-queue.ts";
import type { OutcomeQueue } from "../store/outcome-queue.ts";
import { isToken, loadAdminToken } from "./access/admin-token.ts";
import type { Guard } from "./access/guard.ts";
import { guardLimits } from "./access/guard-limits.ts";
import { followSignIns, rejectSignInLosses } from "./access/lost-sign-ins.ts";
import { ProxySignIns } from "./access/proxy-sign-ins.ts";
import { Sessions } from "./access/sessions.ts";
import { type AdminMount, adminRoutes, memberRoutes } from "./api/admin.ts";
import { type LocalOperations, localOperations } from "./api/local.ts";
import type { UnmountedDeps } from "./deps.ts";
import { endTrialKeys } from "./keys/trial-keys.ts";
import type { Live } from "./live/live.ts";
import { OtherNodes } from "./live/other-nodes.ts";
import type { InFlightView } from "./requests/schema.ts";
import { openMetricsListener } from "./system/metrics-listener.ts";

interface AdminParts {
  readonly gateway: Gateway;
  readonly backend: Backend;
  readonly live: Live;
  readonly version: string;
  address(): string;
  readonly requestLog: Pick<OutcomeQueue, "dropped" | "flush">;
  readonly callerIds: Pick<CallerIdQueue, "flush">;
  readonly tracing: { readonly dropped: number };
  readonly feed: UnmountedDeps["feed"];
  readonly monitor: Pick<AlertMonitor, "list" | "checkNow">;
  readonly configOnDisk: ConfigOnDisk | undefined;
  readonly log: Pick<Log, "warn">;
}

export interface Admin {
  /** The routes of the admin API and `/metrics`. */
  readonly mount: AdminMount;
  /** Routes for members who authenticate with a key; they need no listener of their own. */
  readonly mountForMembers: AdminMount;
  /** Performs the operations for commands on this machine. */
  readonly local: LocalOperations;
  /**
   * The token generated at this start, to be shown once; null if a token existed already, or another gateway saved its
   * own first.
   */
  readonly generatedToken: string | null;
  /** Whether this start turned off what a trial had issued. */
  readonly trialEnded: boolean;
  /** Saves the generated token, once the gateway is up and the token will be shown. */
  saveGeneratedToken(): Promise<void>;
  /**
   * Applies new settings. A new admin token signs everyone out. Returns what could not be changed, and why. Throws,
   * before any change, if keys would be suspended without consent.
   */
  reload(settings: Settings, consent: ReloadConsent): Promise<readonly string[]>;
  /** Null without a metrics listener. */
  readonly metricsAddress: string | null;
  close(): Promise<void>;
}

export async function createAdmin(parts: AdminParts): Promise<Admin> {
  const { gateway, backend, requestLog, callerIds, tracing, monitor, configOnDisk, ...kept } = parts;
  const { live, log } = kept;
  const { store } = backend;
  const { clock, keys, accounts, ongoing } = gateway;
  const { admin, isDemo } = gateway.configured.settings;
  const source = { configured: admin.token, isTrial: isDemo };
  const { tokenHash, generated, endsTrial, save } = await loadAdminToken(source, store.admin);
  const guard: Guard = {
    tokenHash,
    sessions: new Sessions(clock, store.admin.sessions, () => guard.tokenHash),
    tokens: store.admin,
    ...guardLimits(clock),
    proxySignIns: new ProxySignIns(
      () => deps,
      () => gateway.configured.settings.admin,
    ),
    settings: () => gateway.configured.settings.admin,
  };
  const deps: UnmountedDeps = {
    ...kept,
    store,
    clock,
    keys,
    accounts,
    knowsReserved: true,
    knownNames: () => gateway.configured.settings.named,
    guard,
    content: gateway.configured.settings.content === null ? null : gateway.content,
    storedBefore: (keyId, turn) =>
      storedBefore({ turns: gateway.turns, settings: gateway.configured.settings }, keyId, turn),
    droppedContent: () => gateway.content?.dropped ?? null,
    droppedSpans: () => tracing.dropped,
    settings: () => gateway.configured.settings,
    configOnDisk: configOnDisk ?? null,
    deploymentHealth: () => gateway.configured.upstream.health(),
    alerts: () => monitor.list,
    checkAlerts: async () => {
      await monitor.checkNow();
      return monitor.list;
    },
    inFlight: () => ongoing.size,
    backgroundInFlight: () => gateway.backgrounds.inFlight,
    lineCounts: () => gateway.batches.counts,
    requestLogDropped: () => requestLog.dropped,
    flushRequestLog: async () => {
      await Promise.all([requestLog.flush(), callerIds.flush()]);
    },
    oldestExchanges: (limit) => oldestExchanges(gateway, limit),
    isDraining: () => ongoing.isDraining,
    problem: () => backend.problem,
    journalStats: () => backend.stats,
    applyChanges: () => gateway.catchUp(),
  };
  const suspended = await followSignIns(deps, admin);
  if (suspended > 0) log.warn({ keys: suspended }, suspendedAtStart);
  const endedKeys = isDemo ? 0 : await endTrialKeys(deps);
  const metrics = await openMetricsListener(admin.metricsListen, deps);
  live.feed.labelOf = (id) => keys.byId(id)?.label ?? null;
  const otherNodes = new OtherNodes({ store, keys, feed: live.feed });
  otherNodes.start();
  return {
    get generatedToken() {
      return guard.tokenHash === tokenHash ? generated : null;
    },
    trialEnded: endsTrial || endedKeys > 0,
    saveGeneratedToken: async () => {
      const savedHash = await save();
      if (savedHash !== tokenHash) guard.tokenHash = savedHash;
    },
    mount: adminRoutes(deps),
    mountForMembers: memberRoutes(deps),
    local: localOperations(deps),
    get metricsAddress() {
      return metrics.address;
    },
    reload: async (settings, consent) => {
      if (!consent.suspendsKeys) await rejectSignInLosses(deps, settings.admin);
      const next = settings.admin.token;
      if (next !== null && !isToken(guard.tokenHash, next)) {
        guard.tokenHash = hashSecret(next);
        await guard.sessions.endAll();
      }
      await followSignIns(deps, settings.admin);
      const ended = settings.isDemo ? 0 : await endTrialKeys(deps);
      if (ended > 0) log.warn({ keys: ended }, trialEndedByReload);
      return metrics.moveTo(settings.admin.metricsListen);
    },
    close: async () => {
      live.close();
      await otherNodes.stop();
      await metrics.close();
    },
  };
}

const trialEndedByReload =
  "real providers are served now, so the keys of the demo no longer work: create others with `sluice keys create`";

const suspendedAtStart =
  "suspended keys whose owners can no longer sign in with this configuration; they are restored when it is corrected";

function oldestExchanges({ ongoing }: Gateway, limit: number): InFlightView[] {
  const oldest = [...ongoing.exchanges()].sort((a, b) => a.startedMs - b.startedMs).slice(0, limit);
  return oldest.map((exchange) => ({
    id: exchange.id,
    key_prefix: exchange.key?.prefix ?? "",
    model: exchange.model?.id ?? "",
    route: exchange.call.route.path,
    stream: exchange.stream,
    age_ms: exchange.elapsedMs(),
  }));
}
