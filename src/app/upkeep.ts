import type { AttentionMonitor } from "../attention/monitor.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { EndingRetention } from "../store/ending-retention.ts";
import { TroubleWatch } from "../store/trouble-watch.ts";
import type { Services } from "./services.ts";

/** What runs regularly beside the requests: changes by other processes, alarms about the store, pruning, what needs attention. */
export class Upkeep {
  readonly #services: Services;
  readonly #retention: EndingRetention;
  readonly #alarms: TroubleWatch;
  readonly #monitor: AttentionMonitor;

  constructor(services: Services, gateway: Gateway, monitor: AttentionMonitor) {
    const { backend, clock, logs } = services;
    const { log } = logs;
    this.#services = services;
    this.#monitor = monitor;
    this.#retention = new EndingRetention({
      store: backend.store,
      clock,
      limits: () => gateway.configured.settings.retention,
      onError: this.#pruningFailed,
    });
    this.#alarms = new TroubleWatch({
      store: backend,
      onTrouble: ({ reason, advice }) => log.error({ advice }, `no new work is taken: ${reason}`),
      onRecovered: () => log.info("charges can be written again; new work is taken"),
    });
  }

  start(): void {
    const { watcher, backend, idOwners, turns } = this.#services;
    watcher.start();
    this.#alarms.start();
    backend.claims.startPruning(this.#pruningFailed);
    idOwners.startPruning(this.#pruningFailed);
    turns.startPruning(this.#pruningFailed);
    this.#retention.start();
    this.#monitor.start();
  }

  async stop(): Promise<void> {
    const { watcher, backend, idOwners, turns } = this.#services;
    await watcher.stop();
    backend.claims.stopPruning();
    idOwners.stopPruning();
    turns.stopPruning();
    this.#alarms.stop();
    await this.#monitor.stop();
    await this.#retention.stop();
  }

  readonly #pruningFailed = (err: unknown): void => {
    this.#services.logs.log.error({ err }, "pruning failed");
  };
}
