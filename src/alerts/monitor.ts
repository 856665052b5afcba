import { type Clock, msPerDay } from "../base/clock.ts";
import { newId } from "../base/id.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Log } from "../observe/log.ts";
import type { Store } from "../store/store.ts";
import { type Alert, idOf } from "./alert.ts";
import { alertBody, alertChanges } from "./alert-changes.ts";
import { ClockWatch, clockDiffers } from "./clock-watch.ts";
import {
  type GatewayState,
  gatewayAlerts,
  hasOutdatedPrices,
  priceUseDays,
  storeUnavailable,
} from "./gateway-alerts.ts";
import { HoldDown } from "./hold-down.ts";
import { type Hook, postToHook } from "./hook.ts";
import { readAlerts } from "./read-alerts.ts";

export interface MonitorOptions extends GatewayState {
  readonly store: Pick<Store, "alerts" | "nodes" | "batches">;
  readonly clock: Clock;
  /** How far a shared database's clock is ahead of this machine's. */
  readonly clockOffsetMs?: () => number;
  readonly log: Pick<Log, "warn" | "error">;
  /** The name under which this gateway leads; by default a new one. */
  readonly gateway?: string;
  /** How long another gateway waits for this one before it sends alerts itself. */
  readonly leadForMs?: number;
}

const checkEveryMs = 5_000;
/** If the gateway that sends alerts is gone, another one takes over within 30 seconds. */
const defaultLeadMs = 15_000;
/** Published alerts stay valid for a minute, and are written again before that. */
const validForMs = 60_000;
/** A stop does not wait longer than this for the store. */
const stopTimeoutMs = 2_000;
const postsAtOnce = 500;
const readModelsEveryMs = 10 * 60_000;
/** Limits sending, so that a slow webhook does not delay the next check. */
const sendForMs = 15_000;
const minPauseMs = 5_000;
const maxPauseMs = 5 * 60_000;

interface UnsavedPost {
  readonly body: string;
  readonly madeAtMs: number;
}

/**
 * Checks for alerts in the background and posts them to the operator's webhook. An alert is written to the store before it
 * is sent and deleted afterwards, so a crash in between sends it twice rather than never. `store_unavailable` cannot be
 * written to the store: the gateway that sent alerts last sends this one from memory.
 */
export class AlertMonitor {
  readonly #options: MonitorOptions;
  readonly #gateway: string;
  readonly #checking = new Repeating();
  readonly #clockWatch: ClockWatch;
  readonly #holdDown = new HoldDown();
  /** A stop does not wait for the webhook: posts that it has not accepted are sent after the next start. */
  readonly #stopping = new AbortController();
  #check: Promise<void> | null = null;
  #list: readonly Alert[] = [];
  #published = "[]";
  #publishedAtMs = 0;
  #isSender = false;
  /** The alerts that this gateway last stored as active; null if another gateway may have stored others. */
  #noted: string | null = null;
  #unavailable: Alert | null = null;
  #unsaved: UnsavedPost[] = [];
  /** Posts that are done, but could not be removed from the store while it was unavailable. */
  readonly #settled = new Set<number>();
  #isFailing = false;
  #requestedModels: ReadonlySet<string> = new Set();
  #requestedModelsAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#gateway = options.gateway ?? newId("gw_");
    this.#clockWatch = new ClockWatch(options.clock);
  }

  /** The active alerts, as of the last check. */
  get list(): readonly Alert[] {
    return this.#list;
  }

  start(): void {
    this.#checking.start(checkEveryMs, () => void this.check());
    void this.check();
  }

  async stop(): Promise<void> {
    this.#checking.stop();
    this.#stopping.abort();
    await Promise.race([this.#endChecks().catch(() => {}), Bun.sleep(stopTimeoutMs)]);
  }

  async #endChecks(): Promise<void> {
    await this.#check;
    await this.#publish(this.#gatewayAlerts(this.#requestedModels), true);
  }

  /** Checks for alerts, one run at a time, and sends what changed. */
  check(): Promise<void> {
    this.#check ??= this.#checkOnce().finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  /** A check that begins now: one that is running may have read its state before. */
  async checkNow(): Promise<void> {
    await this.#check;
    await this.check();
  }

  async #checkOnce(): Promise<void> {
    const { clock, settings, store } = this.#options;
    const hook = settings().alerts;
    const unavailable = storeUnavailable(this.#options);
    this.#followStore(unavailable, hook);
    const sending = this.#sendUnsaved(hook);
    try {
      this.#isSender = await this.#lead();
      // Publishing may succeed even on a full disk.
      await this.#publish([
        ...(unavailable === null ? [] : [unavailable]),
        ...this.#gatewayAlerts(await this.#readRequestedModels()),
        ...this.#clockAlerts(),
      ]);
      const { active: stored, ofStoppedGateways, recovered } = await readAlerts(store, clock.wallMs());
      const active = withoutStoreUnavailable(stored);
      this.#list = unavailable === null ? active : [unavailable, ...active];
      if (this.#isSender) await this.#note([...ofStoppedGateways, ...active]);
      else this.#noted = null;
      if (this.#isSender && hook !== null)
        await this.#sendChanges([...ofStoppedGateways, ...active], recovered, hook);
      this.#isFailing = false;
    } catch (err) {
      if (unavailable !== null) this.#list = [unavailable, ...withoutStoreUnavailable(this.#list)];
      // While the store is unavailable every check fails, and the log already has the reason.
      if (!this.#isFailing && unavailable === null)
        this.#options.log.warn({ err }, "alerts could not be read");
      this.#isFailing = true;
    }
    await sending;
  }

  #gatewayAlerts(requestedModels: ReadonlySet<string>): readonly Alert[] {
    const { clock } = this.#options;
    const found = gatewayAlerts(this.#options, clock.wallMs(), requestedModels);
    return this.#holdDown.apply(found, clock.monotonicMs());
  }

  #clockAlerts(): readonly Alert[] {
    const { settings, clockOffsetMs = () => 0 } = this.#options;
    const { node } = settings().server;
    return [this.#clockWatch.check(node), clockDiffers(node, clockOffsetMs())].filter(
      (alert) => alert !== null,
    );
  }

  /** Read only if a price is old, and rarely: the totals of a month have a row per hour and model. */
  async #readRequestedModels(): Promise<ReadonlySet<string>> {
    const { clock, settings, store } = this.#options;
    const nowMs = clock.wallMs();
    if (!hasOutdatedPrices(settings(), nowMs)) return this.#requestedModels;
    if (nowMs - this.#requestedModelsAtMs < readModelsEveryMs) return this.#requestedModels;
    this.#requestedModels = await store.alerts.modelsRequestedSince(nowMs - priceUseDays * msPerDay);
    this.#requestedModelsAtMs = nowMs;
    return this.#requestedModels;
  }

  /** Writes what began and what ended, for the list of past alerts. */
  async #note(active: readonly Alert[]): Promise<void> {
    const { clock, store } = this.#options;
    const noted = active.map((alert) => ({
      id: idOf(alert),
      alert: JSON.stringify({ ...alert, lastError: null, acknowledged: undefined, isStopped: undefined }),
    }));
    // Amounts change with every request; what counts is which alerts there are, and how high.
    const ids = JSON.stringify(active.map((alert) => [idOf(alert), alert.level]));
    if (ids === this.#noted) return;
    await store.alerts.noteActive(noted, clock.wallMs());
    this.#noted = ids;
  }

  #lead(): Promise<boolean> {
    const { store, leadForMs = defaultLeadMs } = this.#options;
    return store.alerts.lead(this.#gateway, leadForMs);
  }

  /** Writes the alerts if they have changed, or before they become invalid. */
  async #publish(alerts: readonly Alert[], isStopped = false): Promise<void> {
    const { clock, store } = this.#options;
    const nowMs = clock.wallMs();
    const text = JSON.stringify(isStopped ? alerts.map((each) => ({ ...each, isStopped })) : alerts);
    const isOld = alerts.length > 0 && nowMs - this.#publishedAtMs > validForMs / 2;
    if (text === this.#published && !isOld) return;
    await store.alerts.publish(this.#gateway, text, nowMs, nowMs + validForMs);
    this.#published = text;
    this.#publishedAtMs = nowMs;
  }

  async #sendChanges(active: readonly Alert[], recovered: readonly Alert[], hook: Hook): Promise<void> {
    const { clock, store } = this.#options;
    const changes = alertChanges(active, recovered, await store.alerts.firing(), clock.wallMs());
    if (changes.posts.length > 0) await store.alerts.recordAlerts(changes);
    await this.#sendDue(hook);
  }

  /** Sends posts in order. After a failure, the webhook is not called again until the next check. */
  async #sendDue(hook: Hook): Promise<void> {
    const { alerts } = this.#options.store;
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + sendForMs;
    for (const { no, body, madeAtMs } of await alerts.duePosts(clock.wallMs(), postsAtOnce)) {
      if (clock.monotonicMs() >= untilMs) return;
      // Sending can take as long as the lead lasts, so it is renewed.
      if (!(await this.#lead())) return;
      if (this.#settled.has(no) || (await this.#send(hook, body, madeAtMs))) {
        this.#settled.add(no);
        await alerts.removePost(no);
        this.#settled.delete(no);
        continue;
      }
      const nowMs = clock.wallMs();
      const pauseMs = Math.min(Math.max(nowMs - madeAtMs, minPauseMs), maxPauseMs);
      await alerts.postponePost(no, nowMs + pauseMs);
      return;
    }
  }

  /** True if the post is done: it was accepted, or dropped after a day. */
  async #send(hook: Hook, body: string, madeAtMs: number): Promise<boolean> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    const problem = await postToHook(hook, body, clock.wallMs(), signal);
    if (problem === null) return true;
    if (signal.aborted) return false;
    const isTooOld = clock.wallMs() - madeAtMs >= msPerDay;
    if (isTooOld) log.error(`alert dropped after a day without delivery: the webhook ${problem}`);
    else log.warn(`alert not delivered yet: the webhook ${problem}`);
    return isTooOld;
  }

  /** While the store is unavailable the lead is unknown, so the last gateway that had it sends this alert from memory. */
  #followStore(unavailable: Alert | null, hook: Hook | null): void {
    const before = this.#unavailable;
    const madeAtMs = this.#options.clock.wallMs();
    if (before === null && unavailable !== null && this.#isSender && hook !== null) {
      this.#unavailable = unavailable;
      this.#unsaved.push({ body: alertBody(unavailable, "firing", madeAtMs), madeAtMs });
    } else if (before !== null && unavailable === null) {
      this.#unavailable = null;
      this.#unsaved.push({ body: alertBody(before, "resolved", madeAtMs), madeAtMs });
    }
  }

  async #sendUnsaved(hook: Hook | null): Promise<void> {
    if (hook === null) return;
    for (const post of [...this.#unsaved]) {
      if (!(await this.#send(hook, post.body, post.madeAtMs))) return;
      this.#unsaved = this.#unsaved.filter((each) => each !== post);
    }
  }
}

/** `store_unavailable` is always sent from memory, even if it could be stored. */
function withoutStoreUnavailable(alerts: readonly Alert[]): Alert[] {
  return alerts.filter(({ kind }) => kind !== "store_unavailable");
}
