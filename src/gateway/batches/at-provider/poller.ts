import type { ProviderBatch } from "../../../store/store.ts";
import { BatchCallFailed, type BatchProgress, type ProviderBatches } from "../../../vendors/batches.ts";
import { providerBatches } from "../../../vendors/registry.ts";
import type { ActiveConfig } from "../../active-config.ts";
import type { Gateway } from "../../exchange/gateway.ts";
import type { OpenBatch } from "../open-batch.ts";
import { lineOf } from "./custom-id.ts";
import { heldConfig } from "./held-terms.ts";
import { readResults } from "./result-job.ts";
import type { ReturnedLines } from "./returned-lines.ts";
import { pollAfterMs, sendLeases } from "./timing.ts";

/** A provider ends its batches after a day. After this, lines run again. */
const maxAgeMs = 26 * 3_600_000;
/** Clocks differ. */
const skewMs = 300_000;
/** How often a batch is looked for before it counts as not sent, and incomplete results are read again. */
const [maxSearches, maxReadings] = [2, 3];
const settledAtOnce = 4;
const knownForeign = 10_000;

export interface PollerOptions {
  readonly gateway: Gateway;
  readonly lines: ReturnedLines;
  onError(error: unknown): void;
}

/** Asks providers what became of their batches, and settles the lines of those that have ended. */
export class ProviderPoller {
  readonly #options: PollerOptions;
  /** How often results were read that had too few lines, by the ids of batches. */
  readonly #readings = new Map<string, number>();
  /** Batches of providers that are not this gateway's. */
  readonly #foreign = new Set<string>();
  /** Where one is looked at, as `provider/upstream_model`. */
  readonly #busy = new Set<string>();
  #due: ReadonlyMap<string, OpenBatch> = new Map();
  #claiming: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Looks at what is due. Nothing of a batch that was copied, before it is over: its lines may have been settled since. */
  poll(open: Iterable<OpenBatch>): void {
    const nowMs = this.#nowMs;
    const isDue = (batch: OpenBatch) => {
      const { providerDueMs, isPaused } = batch.shown;
      if (providerDueMs === null || (isPaused && !this.#isOver(batch))) return false;
      return providerDueMs <= nowMs || this.#mustHurry(batch);
    };
    const due = [...open].filter(isDue);
    this.#due = new Map(due.map((batch) => [batch.id, batch]));
    this.#proceed();
  }

  #proceed(): void {
    if (this.#due.size === 0 || this.#isStopped) return;
    this.#isWoken = true;
    this.#claiming ??= this.#claimAll()
      .catch(this.#onError)
      .finally(() => {
        this.#claiming = null;
      });
  }

  stop(): void {
    this.#isStopped = true;
  }

  readonly #onError = (error: unknown): void => {
    if (!this.#isStopped) this.#options.onError(error);
  };

  get #nowMs(): number {
    return Math.floor(this.#options.gateway.clock.wallMs());
  }

  get #pollMs(): number {
    return this.#options.gateway.configured.settings.batches.providerPollMs;
  }

  get #store() {
    return this.#options.gateway.batches.store.providerBatches;
  }

  #mustHurry(batch: OpenBatch): boolean {
    return !batch.isHurried && this.#isOver(batch);
  }

  #isOver({ shown, expiresAtMs }: OpenBatch): boolean {
    return shown.status === "cancelling" || expiresAtMs <= this.#options.gateway.clock.monotonicMs();
  }

  /** Looks at one of each deployment at a time: a provider that stalls delays no other. */
  async #claimAll(): Promise<void> {
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false;
      const due = this.#due;
      for (const batch of due.values()) {
        if (this.#mustHurry(batch)) await this.#store.hurry(batch.id);
        batch.isHurried = this.#isOver(batch);
      }
      for (let record = await this.#claim(due); record !== null; record = await this.#claim(due)) {
        const batch = due.get(record.batchId);
        if (batch !== undefined) this.#begin(batch, record);
      }
    }
  }

  #claim(due: ReadonlyMap<string, OpenBatch>): Promise<ProviderBatch | null> {
    const nowMs = this.#nowMs;
    return this.#store.claimDue([...due.keys()], nowMs, nowMs + sendLeases * this.#pollMs, [...this.#busy]);
  }

  #begin(batch: OpenBatch, record: ProviderBatch): void {
    const place = `${record.provider}/${record.upstreamModel}`;
    this.#busy.add(place);
    void this.#look(batch, record)
      .catch(this.#onError)
      .finally(() => {
        this.#busy.delete(place);
        this.#proceed();
      });
  }

  async #look(batch: OpenBatch, record: ProviderBatch): Promise<void> {
    // The gateway whose store was copied may still wait for the provider's batch.
    if (batch.shown.isPaused) return await this.#runAgain(batch, record);
    const isTooOld = isOld(record, this.#nowMs);
    try {
      const api = this.#apiOf(record);
      if (record.providerId === null) return await this.#search(batch, record, api);
      const progress = await api.progress(record.providerId);
      if (progress.hasEnded) return await this.#settle(batch, record, api, progress);
      if (isTooOld || (this.#isOver(batch) && !record.isCancelled)) await api.cancel(record.providerId);
      if (!record.isCancelled && this.#isOver(batch)) await this.#store.cancelled(record.id);
    } catch (error) {
      if (this.#isStopped) return;
      this.#onError(error);
      if (await this.#isGone(record, error)) return await this.#runAgain(batch, record);
    }
    if (isTooOld) await this.#runAgain(batch, record);
    else await this.#postpone(record, record.looks + 1);
  }

  #apiOf({ provider: name, credential }: ProviderBatch): ProviderBatches {
    const provider = this.#options.gateway.configured.upstream.provider(name);
    const api = provider && providerBatches(provider, credential);
    if (api === null) throw new Error(`Provider "${name}" has lines of batches, and is not configured.`);
    return api;
  }

  /**
   * Whether the provider has the batch no more: neither by its id nor in its list. A new one may be visible later, and another
   * credential than the one that sent it may belong to another workspace.
   */
  async #isGone(record: ProviderBatch, error: unknown): Promise<boolean> {
    const { provider, providerId, credential, createdAtMs } = record;
    const isNew = this.#nowMs - createdAtMs < sendLeases * this.#pollMs;
    const isUnknown = error instanceof BatchCallFailed && error.status === 404;
    const { credentials = [] } = this.#options.gateway.configured.upstream.provider(provider) ?? {};
    const isSender = credentials.some(({ id }) => id === credential);
    if (providerId === null || isNew || !isUnknown || !isSender) return false;
    const listed = await this.#apiOf(record)
      .list(createdAtMs - skewMs)
      .catch(() => null);
    return listed?.every(({ id }) => id !== providerId) ?? false;
  }

  /** It may have been sent, and the process ended before it knew: the provider's batches tell by the ids of their requests. */
  async #search(batch: OpenBatch, record: ProviderBatch, api: ProviderBatches): Promise<void> {
    const listed = await api.list(record.createdAtMs - skewMs);
    const known = new Set(await this.#store.known(listed.map(({ id }) => id)));
    const possible = listed.filter(
      ({ id, count }) => count === record.lines && !known.has(id) && !this.#foreign.has(id),
    );
    for (const { id, hasEnded } of possible) {
      if (!hasEnded) continue;
      if (await this.#isOwn(api, id, record)) {
        await this.#store.sent(record.id, id, this.#nowMs);
        return;
      }
      if (this.#foreign.size >= knownForeign) this.#foreign.clear();
      this.#foreign.add(id);
    }
    // One that runs has no ids yet.
    const mayCome = possible.some(({ hasEnded }) => !hasEnded);
    const looks = mayCome ? record.looks : record.looks + 1;
    if (isOld(record, this.#nowMs) || (!mayCome && looks >= maxSearches)) await this.#runAgain(batch, record);
    else await this.#postpone(record, looks);
  }

  /** Results come in any order, some maybe twice or not at all, and the response may break off anywhere. */
  async #settle(
    batch: OpenBatch,
    record: ProviderBatch,
    api: ProviderBatches,
    { count }: BatchProgress,
  ): Promise<void> {
    const { lines, gateway } = this.#options;
    const returned = { ...record, configured: configOf(gateway, record) };
    const settling = new Set<Promise<unknown>>();
    const seen = new Set<string>();
    let areAllSettled = true;
    let renewAtMs = this.#nowMs + this.#pollMs;
    try {
      for await (const result of readResults(gateway, api, record.providerId ?? "")) {
        if (this.#isStopped) return;
        seen.add(result.id);
        const no = lineOf(record.id, result.id);
        if (no === null) gateway.batches.counts.unknown += 1;
        else {
          const one = lines.settle(batch, returned, no, result).then((isSettled) => {
            areAllSettled &&= isSettled;
            settling.delete(one);
          });
          settling.add(one);
        }
        if (settling.size >= settledAtOnce) await Promise.race(settling);
        if (this.#nowMs < renewAtMs) continue;
        renewAtMs = this.#nowMs + this.#pollMs;
        await this.#store.postpone(record.id, renewAtMs + sendLeases * this.#pollMs, record.looks);
      }
    } finally {
      await Promise.all(settling);
    }
    const readings = (this.#readings.get(record.id) ?? 0) + 1;
    const isIncomplete = seen.size < count && readings <= maxReadings;
    if (isIncomplete) this.#readings.set(record.id, readings);
    if (!areAllSettled || isIncomplete) await this.#postpone(record, record.looks + 1);
    else await this.#runAgain(batch, record);
  }

  /** Lines without a result. What a provider had and did not run is run here. */
  async #runAgain(batch: OpenBatch, record: ProviderBatch): Promise<void> {
    const { gateway, lines } = this.#options;
    this.#readings.delete(record.id);
    gateway.batches.counts.interrupted += await lines.runAgain(batch, record, record.providerId !== null);
    if (!(await this.#store.over(record.id))) await this.#postpone(record, record.looks);
  }

  async #isOwn(api: ProviderBatches, id: string, record: ProviderBatch): Promise<boolean> {
    try {
      for await (const result of readResults(this.#options.gateway, api, id))
        if (lineOf(record.id, result.id) !== null) return true;
    } catch (error) {
      // Another key's, or deleted.
      if (!(error instanceof BatchCallFailed) || error.isPassing) throw error;
    }
    return false;
  }

  async #postpone({ id }: ProviderBatch, looks: number): Promise<void> {
    await this.#store.postpone(id, this.#nowMs + pollAfterMs(this.#pollMs, looks), looks);
  }
}

function isOld({ createdAtMs }: ProviderBatch, nowMs: number): boolean {
  return nowMs - createdAtMs > maxAgeMs;
}

/** An earlier release has noted no terms. */
function configOf({ configured }: Gateway, { terms }: ProviderBatch): ActiveConfig {
  return terms === null ? configured : heldConfig(configured, terms);
}
