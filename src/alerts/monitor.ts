import { type Clock, msPerDay } from "../base/clock.ts";
import { newId } from "../base/id.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Log } from "../observe/log.ts";
import type { Store } from "../store/store.ts";
import type { Alert } from "./alert.ts";
import { alertBody, alertChanges } from "./alert-changes.ts";
import { ClockWatch, clockDiffers } from "./clock-watch.ts";
import { type GatewayState, gatewayAlerts, storeAway } from "./gateway-alerts.ts";
import { type Hook, postToHook } from "./hook.ts";
import { readAlerts } from "./read-alerts.ts";

export interface MonitorOptions extends GatewayState {
  readonly store: Pick<Store, "alerts" | "nodes">;
  readonly clock: Clock;
  /** What a shared database's clock is ahead of this machine's. */
  readonly clockOffsetMs?: () => number;
  readonly log: Pick<Log, "warn" | "error">;
  /** How long another gateway waits for this one before it sends alerts itself. */
  readonly leadForMs?: number;
}

const lookEveryMs = 5_000;
/** If the gateway that sends alerts is gone, another one does so, still within 30 seconds. */
const usualLeadMs = 15_000;
/** What a gateway has found is believed for a minute after its last look, and written again in time. */
const believedForMs = 60_000;
/** A stop does not wait for a store that does not answer. */
const stopTimeoutMs = 2_000;
const postsAtOnce = 500;
/** A slow hook does not keep the list from being looked at. */
const sendForMs = 15_000;
const shortestPauseMs = 5_000;
const maxPauseMs = 5 * 60_000;

interface UnkeptPost {
  readonly body: string;
  readonly madeAtMs: number;
}

/**
 * Checks for alerts in the background and posts them to the operator's webhook. An alert is written to the store before it
 * is sent and deleted afterwards, so a crash in between sends it twice rather than never. `store_unavailable` cannot be
 * written to the store: the gateway that sent alerts last sends this one from memory.
 */
export class AttentionMonitor {
  readonly #options: MonitorOptions;
  readonly #gateway = newId("gw_");
  readonly #looking = new Repeating();
  readonly #clockWatch: ClockWatch;
  /** A stop does not wait for the hook: what is not accepted by then is sent after the next start. */
  readonly #stopping = new AbortController();
  #look: Promise<void> | null = null;
  #list: readonly Alert[] = [];
  #published = "[]";
  #publishedAtMs = 0;
  #isSender = false;
  #away: Alert | null = null;
  #unkept: UnkeptPost[] = [];
  /** Posts that need not be sent again, and could not be removed because the store was away. */
  readonly #settled = new Set<number>();
  #isFailing = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#clockWatch = new ClockWatch(options.clock);
  }

  /** As of the last look. */
  get list(): readonly Alert[] {
    return this.#list;
  }

  start(): void {
    this.#looking.start(lookEveryMs, () => void this.look());
    void this.look();
  }

  async stop(): Promise<void> {
    this.#looking.stop();
    this.#stopping.abort();
    await Promise.race([this.#endLooks().catch(() => {}), Bun.sleep(stopTimeoutMs)]);
  }

  async #endLooks(): Promise<void> {
    await this.#look;
    await this.#publish(gatewayAlerts(this.#options, this.#options.clock.wallMs()), true);
  }

  /** One look at a time, and what follows from it. */
  look(): Promise<void> {
    this.#look ??= this.#lookOnce().finally(() => {
      this.#look = null;
    });
    return this.#look;
  }

  async #lookOnce(): Promise<void> {
    const { clock, settings, store } = this.#options;
    const hook = settings().alerts;
    const away = storeAway(this.#options);
    this.#followStore(away, hook);
    const sending = this.#sendUnkept(hook);
    try {
      this.#isSender = await this.#lead();
      // A full disk may still have room for it.
      await this.#publish([
        ...(away === null ? [] : [away]),
        ...gatewayAlerts(this.#options, clock.wallMs()),
        ...this.#clockFindings(),
      ]);
      const { found: kept, ofStopped, answered } = await readAlerts(store, clock.wallMs());
      const found = withoutAway(kept);
      this.#list = away === null ? found : [away, ...found];
      if (this.#isSender && hook !== null) await this.#tell([...ofStopped, ...found], answered, hook);
      this.#isFailing = false;
    } catch (err) {
      if (away !== null) this.#list = [away, ...withoutAway(this.#list)];
      // While the store is away every look fails, and the log has the reason already.
      if (!this.#isFailing && away === null) this.#options.log.warn({ err }, "alerts could not be read");
      this.#isFailing = true;
    }
    await sending;
  }

  #clockFindings(): readonly Alert[] {
    const { settings, clockOffsetMs = () => 0 } = this.#options;
    const { node } = settings().server;
    return [this.#clockWatch.look(node), clockDiffers(node, clockOffsetMs())].filter(
      (found) => found !== null,
    );
  }

  #lead(): Promise<boolean> {
    const { store, leadForMs = usualLeadMs } = this.#options;
    return store.alerts.lead(this.#gateway, leadForMs);
  }

  /** Written when it changes, and before it is no longer believed. */
  async #publish(found: readonly Alert[], isStopped = false): Promise<void> {
    const { clock, store } = this.#options;
    const nowMs = clock.wallMs();
    const text = JSON.stringify(isStopped ? found.map((each) => ({ ...each, isStopped })) : found);
    const isOld = found.length > 0 && nowMs - this.#publishedAtMs > believedForMs / 2;
    if (text === this.#published && !isOld) return;
    await store.alerts.publish(this.#gateway, text, nowMs, nowMs + believedForMs);
    this.#published = text;
    this.#publishedAtMs = nowMs;
  }

  async #tell(found: readonly Alert[], answered: readonly Alert[], hook: Hook): Promise<void> {
    const { clock, store } = this.#options;
    const changes = alertChanges(found, answered, await store.alerts.begun(), clock.wallMs());
    if (changes.posts.length > 0) await store.alerts.recordAlerts(changes);
    await this.#sendDue(hook);
  }

  /** In their order. If one is not accepted, the hook is left alone until the next look. */
  async #sendDue(hook: Hook): Promise<void> {
    const { alerts } = this.#options.store;
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + sendForMs;
    for (const { no, body, madeAtMs } of await alerts.duePosts(clock.wallMs(), postsAtOnce)) {
      if (clock.monotonicMs() >= untilMs) return;
      // Sending may take as long as the lead lasts.
      if (!(await this.#lead())) return;
      if (this.#settled.has(no) || (await this.#send(hook, body, madeAtMs))) {
        this.#settled.add(no);
        await alerts.removePost(no);
        this.#settled.delete(no);
        continue;
      }
      const nowMs = clock.wallMs();
      const pauseMs = Math.min(Math.max(nowMs - madeAtMs, shortestPauseMs), maxPauseMs);
      await alerts.postponePost(no, nowMs + pauseMs);
      return;
    }
  }

  /** True if there is no more to do: it was accepted, or a day has passed. */
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

  /** Which gateway sends alerts is not known while the store is away; the last one does. */
  #followStore(away: Alert | null, hook: Hook | null): void {
    const before = this.#away;
    const madeAtMs = this.#options.clock.wallMs();
    if (before === null && away !== null && this.#isSender && hook !== null) {
      this.#away = away;
      this.#unkept.push({ body: alertBody(away, "firing", madeAtMs), madeAtMs });
    } else if (before !== null && away === null) {
      this.#away = null;
      this.#unkept.push({ body: alertBody(before, "resolved", madeAtMs), madeAtMs });
    }
  }

  async #sendUnkept(hook: Hook | null): Promise<void> {
    if (hook === null) return;
    for (const post of [...this.#unkept]) {
      if (!(await this.#send(hook, post.body, post.madeAtMs))) return;
      this.#unkept = this.#unkept.filter((each) => each !== post);
    }
  }
}

/** `store_unavailable` is always sent from memory, even if it could be stored. */
function withoutAway(alerts: readonly Alert[]): Alert[] {
  return alerts.filter(({ kind }) => kind !== "store_unavailable");
}
