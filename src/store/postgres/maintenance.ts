import type { Clock } from "../../base/clock.ts";
import { Repeating } from "../../base/loop/repeating.ts";
import type { PostgresClient } from "./client.ts";
import { sqlStateOf } from "./errors.ts";
import { rollUp } from "./rollup.ts";

export interface MaintenanceOptions {
  readonly client: PostgresClient;
  readonly clock: Clock;
  /** Called for the first of several failures. Nothing is lost: reports count the rows themselves. */
  onError(error: unknown): void;
}

/** Rare enough that the totals of busy keys are written once for many requests; reports are exact meanwhile. */
const rollUpEveryMs = 5_000;
const makeMonthsEveryMs = 3_600_000;
const monthsAhead = 2;
const stopTimeoutMs = 2_000;
const createdByAnother = "42P07";

/** Periodic work that any gateway does for all: rolls up usage and creates the ledger's next monthly partitions. */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  readonly #rollUps = new Repeating();
  readonly #months = new Repeating();
  #isStopped = false;
  #isFailing = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#makeMonths();
    this.#months.start(makeMonthsEveryMs, () => this.#makeMonths());
    this.#rollUps.start(rollUpEveryMs, () => this.#rollUp());
  }

  /** Rolls up the rest, so that the next reports have less to do; skipped if the database is unavailable. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#months.stop();
    const { client, onError } = this.#options;
    const addingUp = this.#rollUps
      .stop()
      .then(() => rollUp(client))
      .catch(onError);
    await Promise.race([addingUp, Bun.sleep(stopTimeoutMs)]);
  }

  async #rollUp(): Promise<void> {
    try {
      let isMore = true;
      while (isMore && !this.#isStopped) isMore = await rollUp(this.#options.client);
      this.#isFailing = false;
    } catch (error) {
      // Reports only the first failure, to keep the log readable while the database is unavailable.
      if (!this.#isFailing) this.#options.onError(error);
      this.#isFailing = true;
    }
  }

  /**
   * Briefly takes a lock that charges wait for, so it gives up quickly and retries later. This is not urgent for
   * months, and a month without its own partition uses the default one.
   */
  async #makeMonths(): Promise<void> {
    const { client, clock, onError } = this.#options;
    try {
      await client.transaction(async (query) => {
        await query("SET LOCAL lock_timeout = '1s'");
        await query("SELECT sluice_make_months($1::int8, $2::int)", [clock.wallMs(), monthsAhead]);
      });
    } catch (error) {
      if (sqlStateOf(error) !== createdByAnother) onError(error);
    }
  }
}
