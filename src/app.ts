import { version } from "../package.json";
import { createAdmin } from "./admin/create.ts";
import { Live } from "./admin/live/live.ts";
import type { Backend } from "./backend/backend.ts";
import { openBackend } from "./backend/open.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { GatewayError } from "./base/errors.ts";
import { Catalog } from "./catalog/catalog.ts";
import { TokenCounter } from "./catalog/tokens/counter.ts";
import { type Reloaded, reloadable, withWarnings } from "./config/reload.ts";
import type { ServerSettings, Settings } from "./config/settings.ts";
import { Ongoing } from "./gateway/admission/ongoing.ts";
import { Watchdog } from "./gateway/answer/watchdog.ts";
import type { Configured } from "./gateway/configured.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { LargeBodies } from "./gateway/large/large-bodies.ts";
import { GivenIds } from "./gateway/request/given-ids.ts";
import { KeptItems } from "./gateway/request/kept-items.ts";
import { dashboardRoutes } from "./http/dashboard.ts";
import { createEdge } from "./http/edge.ts";
import { listen, listenForAdmin } from "./http/listen.ts";
import { KeyRing } from "./keys/keyring.ts";
import { AddressLimiter } from "./limits/address-limiter.ts";
import { BodyBudget } from "./limits/body-budget.ts";
import { createLogs, type Log, type Logs } from "./observe/log.ts";
import { startTracing } from "./observe/tracing.ts";
import { EndingQueue } from "./store/ending-queue.ts";
import { EndingRetention } from "./store/ending-retention.ts";
import type { Store } from "./store/store.ts";
import { TroubleWatch } from "./store/trouble-watch.ts";
import { StoreWatcher } from "./store/watcher.ts";
import { createUpstream } from "./upstream/create.ts";
import { TokenSources } from "./vendors/credentials/token-sources.ts";

export interface RunningGateway {
  readonly url: string;
  /** Where the dashboard is: the same, unless the admin side has a listener of its own. */
  readonly adminUrl: string;
  readonly gateway: Gateway;
  readonly store: Store;
  /** The admin token that was made at this start, because there was none yet; to be told once. */
  readonly generatedAdminToken: string | null;
  /** Takes over a new configuration as far as it can; what runs goes on with the old one. */
  reload(settings: Settings): Promise<Reloaded>;
  /**
   * Finishes what runs, within the grace time; then in-band errors, settled, or 503; then closes. Gives what could
   * not be put on disk, in sentences: none when all is well.
   */
  stop(): Promise<readonly string[]>;
  /** What would be lost if the process ended now, in sentences. */
  describeLosses(): readonly string[];
}

/** How long interrupted exchanges may take to be charged once the grace time is over. */
const interruptedGraceMs = 5000;

/** How long the last bytes of answers may take to leave once the grace time is over. */
const lastBytesMs = 1000;

/** The composition root: builds every room from the settings, and listens. */
export async function startGateway({ settings }: { readonly settings: Settings }): Promise<RunningGateway> {
  const clock = systemClock;
  const logs = createLogs(settings.log);
  const backend = await openBackend({ settings, clock, log: logs.log });
  const opened = new AsyncDisposableStack();
  opened.defer(() => backend.close());
  try {
    return await assemble(settings, clock, logs, backend, opened);
  } catch (error) {
    // A gateway that cannot start lets go of its ports and its data: the process can end, and another can have them.
    await opened.disposeAsync();
    throw error;
  }
}

/** Whatever it opens it adds to `opened`, which is closed from the last to the first if the start fails. */
async function assemble(
  settings: Settings,
  clock: Clock,
  logs: Logs,
  backend: Backend,
  opened: AsyncDisposableStack,
): Promise<RunningGateway> {
  const { log } = logs;
  const { store, accounts, rateLimits, claims } = backend;
  const keys = new KeyRing(clock, backend.keys);
  const givenIds = new GivenIds({ store, clock });
  const live = new Live(clock);
  let tracing = await startTracing(settings.tracing, version);
  opened.defer(() => tracing?.close());
  const counter = new TokenCounter();
  opened.defer(() => counter.stop());
  const largeBodies = new LargeBodies();
  opened.defer(() => largeBodies.stop());
  const watcher = new StoreWatcher({
    store,
    revision: backend.revision,
    everyMs: backend.changesEveryMs,
    apply: (changes) => {
      keys.apply(changes);
      accounts.apply(changes);
    },
    onError: (err) => log.error({ err }, "changes could not be read"),
  });

  const endings = new EndingQueue({
    store,
    onDropped: (count) => log.warn({ count }, "endings of exchanges were neither kept nor counted"),
  });
  opened.defer(() => endings.close());
  const retention = new EndingRetention({
    store,
    clock,
    limits: () => gateway.configured.settings.retention,
    onError: (err) => log.error({ err }, "pruning failed"),
  });

  const tokens = new TokenSources({
    clock,
    onRefreshFailed: (provider, { message }) =>
      log.warn({ provider }, `the provider's token could not be refreshed: ${message}`),
  });
  opened.defer(() => tokens.stop());

  const gateway: Gateway = {
    configured: configure(settings, clock, log, tokens),
    clock,
    keys,
    accounts,
    claims,
    givenIds,
    keptItems: new KeptItems(clock),
    rateLimits,
    addressLimiter: new AddressLimiter(clock, settings.server.anonymousRpm),
    bodies: new BodyBudget({
      totalBytes: () => gateway.configured.settings.server.maxBodyMemoryBytes,
      perHolderBytes: () => bodyShare(gateway.configured.settings.server),
    }),
    largeBodies,
    tokens: counter,
    watchdog: new Watchdog(clock.monotonicMs),
    ongoing: new Ongoing({
      maxConcurrent: () => gateway.configured.settings.server.maxConcurrent,
      maxPerKey: () => gateway.configured.settings.server.maxConcurrentPerKey,
      lagMs: () => live.lag.recentMs,
    }),
    endings,
    observe: (facts) => {
      logs.exchange(facts);
      live.observe(facts);
      tracing?.observe(facts);
    },
    catchUp: () => watcher.refresh(),
    storeTrouble: () => backend.trouble?.reason ?? null,
  };

  backend.attach({
    inFlight: () => gateway.ongoing.size,
    onFenced: () => gateway.ongoing.interruptAll(fenced()),
  });

  const admin = await createAdmin({ gateway, backend, live, version, endings });
  opened.defer(() => admin.close());
  const operatorsSide = [admin.mount, dashboardRoutes];
  const ownAddress = settings.admin.listen;
  const server = await listen(
    createEdge(gateway, log, ownAddress === null ? operatorsSide : []),
    settings.server,
  );
  opened.defer(() => server.stop(0));
  const adminServer =
    ownAddress === null
      ? null
      : await listenForAdmin(createEdge(gateway, log, operatorsSide, false), ownAddress, settings.server);
  opened.defer(() => adminServer?.stop(0));
  await admin.saveGeneratedToken();
  watcher.start();
  const alarms = new TroubleWatch({
    store: backend,
    onTrouble: ({ reason, advice }) => log.error({ advice }, `no new work is taken: ${reason}`),
    onRecovered: () => log.info("charges can be written again; new work is taken"),
  });
  alarms.start();
  claims.startPruning((err) => log.error({ err }, "pruning failed"));
  givenIds.startPruning((err) => log.error({ err }, "pruning failed"));
  retention.start();

  return {
    url: server.url,
    adminUrl: adminServer?.url ?? server.url,
    gateway,
    store,
    generatedAdminToken: admin.generatedToken,
    reload: async (next) => {
      const { configured } = gateway;
      const possible = reloadable(configured.settings, next);
      const stays = await admin.reload(possible.settings);
      const { metricsAddress } = admin;
      const inForce = {
        ...possible.settings,
        admin: { ...possible.settings.admin, metricsListen: metricsAddress },
      };
      const reloaded = withWarnings({ ...inForce, warnings: next.warnings }, [
        ...possible.notInForce,
        ...stays,
      ]);
      if (!Bun.deepEquals(configured.settings.tracing, next.tracing)) {
        const before = tracing;
        tracing = await startTracing(next.tracing, version);
        // What still waits is sent in its own time; a collector that is gone must not hold up the reload.
        before?.close().catch((err) => log.warn({ err }, "the last traces could not be sent"));
      }
      logs.configure(next.log);
      gateway.addressLimiter.rpm = next.server.anonymousRpm;
      gateway.configured = configure(reloaded.settings, clock, log, tokens);
      log.info(
        { models: next.models.length, not_in_force: reloaded.notInForce },
        reloaded.notInForce.length === 0 ? "configuration reloaded" : "configuration reloaded in part",
      );
      return reloaded;
    },
    stop: async () => {
      const { shutdownGraceMs } = gateway.configured.settings.server;
      const graceEndsMs = clock.monotonicMs() + shutdownGraceMs;
      gateway.ongoing.isDraining = true;
      const isDrained = await gateway.ongoing.drained(shutdownGraceMs);
      if (!isDrained) {
        gateway.ongoing.interruptAll(
          new GatewayError("service_unavailable", "The gateway is shutting down."),
        );
        await gateway.ongoing.drained(interruptedGraceMs);
      }
      await admin.close();
      await tracing?.close();
      // Whole answers are charged before they leave, so their readers may still be busy within the grace time.
      const leftMs = Math.max(graceEndsMs - clock.monotonicMs(), lastBytesMs);
      await Promise.all([server.stop(leftMs), adminServer?.stop(leftMs)]);
      await watcher.stop();
      claims.stopPruning();
      givenIds.stopPruning();
      tokens.stop();
      counter.stop();
      largeBodies.stop();
      alarms.stop();
      await retention.stop();
      await endings.close();
      await backend.close();
      const losses = backend.describeLosses();
      for (const loss of losses) log.fatal(loss);
      logs.flush();
      return losses;
    },
    describeLosses: () => backend.describeLosses(),
  };
}

function fenced(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway was out of touch with its database for too long. Retry shortly.",
  );
}

/** One key may take half of the memory for bodies, and at least the largest one. */
function bodyShare({ maxBodyMemoryBytes, maxBodyBytes }: ServerSettings): number {
  return Math.max(maxBodyBytes, maxBodyMemoryBytes / 2);
}

function configure(settings: Settings, clock: Clock, log: Log, tokens: TokenSources): Configured {
  const upstream = createUpstream({ settings, clock, log, tokens });
  tokens.stopUnused();
  return { settings, catalog: Catalog.from(settings), upstream };
}
