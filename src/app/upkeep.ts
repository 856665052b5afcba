import type { AttentionMonitor } from "../alerts/monitor.ts";
import { msPerDay } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { RequestLogRetention } from "../store/request-log-retention.ts";
import { TroubleWatch } from "../store/trouble-watch.ts";
import type { Services } from "./services.ts";

const pruneEveryMs = 10 * 60_000;

/**
 * Starts what runs regularly beside the requests: changes by other processes, alarms about the store, pruning, what needs
 * attention. Returns what stops it.
 */
export function startUpkeep(
  { watcher, backend, clock, logs: { log }, idOwners, turns }: Services,
  gateway: Gateway,
  monitor: AttentionMonitor,
): () => Promise<void> {
  const onError = (err: unknown) => log.error({ err }, "pruning failed");
  const limits = () => {
    const { requestDays, requestRows } = gateway.configured.settings.retention;
    return { requestsMs: requestDays * msPerDay, requestRows };
  };
  const retention = new RequestLogRetention({ store: backend.store, clock, limits, onError });
  const alarms = new TroubleWatch({
    store: backend,
    onTrouble: ({ reason, advice }) => log.error({ advice }, `not accepting requests: ${reason}`),
    onRecovered: () => log.info("charges can be written again; accepting requests"),
  });
  const pruning = new Repeating();
  watcher.start();
  alarms.start();
  pruning.start(pruneEveryMs, () => {
    for (const kept of [backend.claims, idOwners, turns]) kept.prune().catch(onError);
  });
  retention.start();
  monitor.start();
  return async () => {
    await watcher.stop();
    pruning.stop();
    alarms.stop();
    await monitor.stop();
    await retention.stop();
  };
}
