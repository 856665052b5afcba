import { version } from "../../package.json";
import { listenForCommands } from "../admin/api/command-listener.ts";
import { createAdmin } from "../admin/create.ts";
import { openBackend } from "../backend/open.ts";
import { type Clock, msPerDay, systemClock } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { ConfigOnDisk, ReloadConsent } from "../config/on-disk.ts";
import type { ReloadedSettings } from "../config/reload.ts";
import type { Settings } from "../config/settings.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { AnchorKeeper } from "../ledger/anchors.ts";
import { createLogs, type Log } from "../observe/log.ts";
import { nameOfDatabase } from "../store/open.ts";
import { ProblemWatch } from "../store/problem-watch.ts";
import { RequestLogRetention } from "../store/request-log-retention.ts";
import type { Store, StoreProblem } from "../store/store.ts";
import { startBackgrounds } from "./background.ts";
import { startBatches } from "./batches.ts";
import { createGateway, createSenders, type Senders } from "./gateway.ts";
import { reloadGateway } from "./reload.ts";
import { openServers } from "./servers.ts";
import { openServices, type Services } from "./services.ts";
import { stopGateway } from "./stop.ts";
import { PriceWatch, settingsWithStoredPrices } from "./stored-prices.ts";

const pruneEveryMs = 10 * 60_000;
/** How often to see whether the week since the last check of the whole database is over. */
const checkEveryMs = 60 * 60_000;

export interface RunningGateway {
  readonly url: string;
  /** Where the dashboard is: the same, unless the admin side has a listener of its own. */
  readonly adminUrl: string;
  readonly gateway: Gateway;
  readonly store: Store;
  /** The admin token that was generated at this start, because there was none yet; to be shown once. */
  readonly generatedAdminToken: string | null;
  /** Whether this start turned off the keys and the token of a trial, because real providers are served now. */
  readonly trialEnded: boolean;
  /** Applies a new configuration as far as possible; requests in flight keep the old one. */
  reload(settings: Settings, consent: ReloadConsent): Promise<ReloadedSettings>;
  /** Logs that a new configuration could not be loaded, as an alarm. */
  reportRejectedReload(reason: string): void;
  /**
   * Waits for requests in flight, within the grace time. Ends the rest with in-band errors (settled) or 503, then closes.
   * Returns what could not be written to disk, as sentences; empty if nothing was lost.
   */
  stop(): Promise<readonly string[]>;
  /** Why the gateway rejects requests now; null while it accepts them. */
  problem(): StoreProblem | null;
  /** Sentences that describe what would be lost if the process ended now. */
  describeLosses(): readonly string[];
}

export interface GatewayStart {
  readonly settings: Settings;
  /** The file that the settings came from, for reloads; absent without a file. */
  readonly configOnDisk?: ConfigOnDisk;
}

/** The composition root: builds every module from the settings, and listens. */
export async function startGateway(starting: GatewayStart): Promise<RunningGateway> {
  const clock = systemClock;
  const opened = new AsyncDisposableStack();
  const logs = createLogs(starting.settings.log);
  opened.defer(() => logs.close());
  try {
    const backend = await openBackend({ settings: starting.settings, clock, log: logs.log });
    opened.defer(() => backend.close());
    const settings = await settingsWithStoredPrices(starting, backend.store);
    const services = await openServices(settings, { clock, logs, backend }, opened);
    return await assemble({ ...starting, settings }, services, opened);
  } catch (error) {
    // A gateway that cannot start lets go of its ports and its data: the process can end, and another can have them.
    await opened.disposeAsync();
    throw error;
  }
}

async function assemble(
  { settings, configOnDisk }: GatewayStart,
  services: Services,
  opened: AsyncDisposableStack,
): Promise<RunningGateway> {
  const { logs, backend, live, requestLog, callerIds, tracing } = services;
  const gateway = createGateway(settings, services);
  const senders = createSenders(gateway, services);
  let address = "";
  const parts = {
    address: () => address,
    gateway,
    backend,
    live,
    version,
    requestLog,
    callerIds,
    tracing,
    ...senders,
    configOnDisk,
    log: logs.log,
  };
  const admin = await createAdmin(parts);
  opened.defer(() => admin.close());
  const servers = await openServers(gateway, admin, logs.log, opened);
  address = servers.url;
  const { server, store } = settings;
  const hello = {
    version,
    pid: process.pid,
    address: servers.url,
    store: store === null ? null : nameOfDatabase(store),
  };
  const commands = listenForCommands({
    dir: server.data,
    hello,
    operations: admin.local,
    log: logs.log,
  });
  opened.defer(() => commands.close());
  await admin.saveGeneratedToken();
  const stopUpkeep = startUpkeep(services, gateway, senders, configOnDisk);
  return {
    url: servers.url,
    adminUrl: servers.adminUrl,
    gateway,
    store: backend.store,
    generatedAdminToken: admin.generatedToken,
    trialEnded: admin.trialEnded,
    reload: (next, consent) => reloadGateway({ gateway, services, admin }, next, consent),
    reportRejectedReload: (reason) =>
      logs.log.error({ reason }, "new configuration rejected; the old one keeps running"),
    stop: () => stopGateway({ gateway, services, admin, servers, stopUpkeep, opened }),
    problem: () => backend.problem,
    describeLosses: () => backend.describeLosses(),
  };
}

/**
 * Starts the background jobs: changes by other processes, alarms about the store, pruning, alerts. Returns a function that
 * stops them.
 */
function startUpkeep(
  { watcher, backend, clock, logs: { log }, idOwners, turns, backgrounds, batches }: Services,
  gateway: Gateway,
  { monitor, feed }: Senders,
  configOnDisk: ConfigOnDisk | undefined,
): () => Promise<void> {
  const onError = (err: unknown) => log.error({ err }, "pruning failed");
  const limits = () => {
    const { requestDays, requestRows } = gateway.configured.settings.retention;
    return { requestsMs: requestDays * msPerDay, requestRows };
  };
  const retention = new RequestLogRetention({ store: backend.store, clock, limits, onError });
  const alarms = new ProblemWatch({
    store: backend,
    onProblem: ({ reason, advice }) => log.error({ advice }, `not accepting requests: ${reason}`),
    onRecovered: () => log.info("charges can be written again; accepting requests"),
  });
  const running = () => gateway.configured.settings.storedPrices;
  const prices = new PriceWatch({ store: backend.store, running, configOnDisk, log });
  const anchors = new AnchorKeeper({
    store: backend.store,
    clock,
    onError: (err) => log.error({ err }, "the ledger could not be anchored"),
  });
  const pruning = new Repeating();
  const damageCheck = startDamageCheck(backend.store, clock, log);
  watcher.start();
  alarms.start();
  pruning.start(pruneEveryMs, () => {
    for (const kept of [backend.claims, idOwners, turns]) kept.prune().catch(onError);
    for (const kept of [backgrounds, batches]) kept.prune(clock.wallMs()).catch(onError);
  });
  retention.start();
  anchors.start();
  prices.start();
  monitor.start();
  feed.start();
  const stopBackgrounds = startBackgrounds(gateway, log);
  const stopBatches = startBatches(gateway, log);
  return async () => {
    await stopBatches();
    await stopBackgrounds();
    await watcher.stop();
    pruning.stop();
    await damageCheck.stop();
    await anchors.stop();
    prices.stop();
    alarms.stop();
    await feed.stop();
    await monitor.stop();
    await retention.stop();
  };
}

/** Reports damage of the ledger's files, and looks for it once a week. An alert repeats it. */
function startDamageCheck({ files }: Store, clock: Clock, log: Log): Repeating {
  const checking = new Repeating();
  let reported: string | null = null;
  const report = () => {
    const damage = files?.damage ?? null;
    if (damage !== null && damage.text !== reported) log.error({}, damage.text);
    reported = damage?.text ?? null;
  };
  report();
  if (files === null) return checking;
  checking.start(checkEveryMs, () =>
    files
      .checkIfDue(clock.wallMs())
      .then(report)
      .catch((err: unknown) => log.error({ err }, "the database could not be checked")),
  );
  return checking;
}
