import { createHash } from "node:crypto";
import type { FeedProblem } from "../alerts/gateway-alerts.ts";
import { postSigned } from "../alerts/hook.ts";
import { type Clock, msPerMinute } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";
import type { FeedLag, FeedPush, Store } from "../store/store.ts";
import { type FeedDocument, feedDocument } from "./entry-document.ts";
import { restoredOf } from "./restored.ts";

export interface FeedSenderOptions {
  readonly store: Pick<Store, "feed">;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  settings(): Pick<Settings, "feed">;
  /** Whether this gateway sends for all that share the database, for the next `leadForMs`. */
  lead(forMs: number): Promise<boolean>;
}

export interface FeedState {
  readonly push: FeedPush;
  readonly lag: FeedLag;
}

export type PostOutcome = "accepted" | "rejected" | "failed";

type Receiver = NonNullable<Settings["feed"]>;

const checkEveryMs = 1_000;
const behindMs = 15 * msPerMinute;
const entriesPerPost = 100;
/** As for alerts: if the gateway that sends is gone, another one takes over within 30 seconds. */
const leadForMs = 15_000;
/** Interval for renewing a lead, so that a check every second does not write every second. */
const renewLeadMs = 5_000;
const readStateMs = 5_000;
/** Maximum time that one check sends, so that a stop and a reload need not wait. */
const sendForMs = 15_000;
const firstPauseMs = 1_000;
const maxPauseMs = 5 * 60_000;
/** 4xx that ask for another attempt. All others say that the post itself is wrong. */
const passing: readonly number[] = [408, 425, 429];

/**
 * Pushes the feed to a receiver: the entries in their order, up to 100 a post. A post is stored before it is sent, and the position
 * moves once the receiver has accepted it. So a crash repeats a post with the same bytes, and skips nothing.
 */
export class FeedSender {
  readonly #options: FeedSenderOptions;
  readonly #repeating = new Repeating();
  readonly #stopping = new AbortController();
  readonly posts: Record<PostOutcome, number> = { accepted: 0, rejected: 0, failed: 0 };
  #state: FeedState | null = null;
  #stateAtMs = Number.NEGATIVE_INFINITY;
  #leadUntilMs = Number.NEGATIVE_INFINITY;
  #renewAtMs = Number.NEGATIVE_INFINITY;
  /** The receiver of the last attempt. A new one is tried at once. */
  #receiver: string | null = null;
  /** Accepted, but that could not be recorded while the store was unavailable. */
  #accepted: number | null = null;
  #isFailing = false;

  constructor(options: FeedSenderOptions) {
    this.#options = options;
  }

  /** The state of a few seconds ago, the same on every gateway. Null if nothing is pushed. */
  get state(): FeedState | null {
    return this.#options.settings().feed === null ? null : this.#state;
  }

  problem(nowMs: number): FeedProblem | null {
    if (this.state === null) return null;
    const { push, lag } = this.state;
    const { throughId, problem } = push;
    if (push.stoppedAtMs !== null)
      return { kind: "feed_stopped", sinceMs: push.stoppedAtMs, throughId, problem };
    if (lag.sinceMs === null) return null;
    const sinceMs = Math.max(lag.sinceMs, push.acceptedAtMs);
    return nowMs - sinceMs < behindMs ? null : { kind: "feed_behind", sinceMs, throughId, problem };
  }

  start(): void {
    this.#repeating.start(checkEveryMs, () => this.check());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#repeating.stop();
  }

  /** Sends what is due, if this gateway is the one that sends. */
  async check(): Promise<void> {
    const { clock, log, settings } = this.#options;
    const receiver = settings().feed;
    if (receiver === null || this.#stopping.signal.aborted) return;
    try {
      const hasSent = (await this.#leads()) && (await this.#sendAll(receiver));
      if (hasSent || clock.monotonicMs() - this.#stateAtMs >= readStateMs) await this.#readState();
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) log.warn({ err }, "the ledger's feed could not be read");
      this.#isFailing = true;
    }
  }

  async #readState(): Promise<void> {
    const { clock, store } = this.#options;
    const push = await store.feed.push.state();
    this.#state = push && { push, lag: await store.feed.lagAfter(push.throughId) };
    this.#stateAtMs = clock.monotonicMs();
  }

  async #leads(): Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#renewAtMs) return nowMs < this.#leadUntilMs;
    const leads = await this.#options.lead(leadForMs);
    this.#leadUntilMs = leads ? nowMs + leadForMs : Number.NEGATIVE_INFINITY;
    this.#renewAtMs = nowMs + renewLeadMs;
    return leads;
  }

  /** Returns whether anything was posted. */
  async #sendAll(receiver: Receiver): Promise<boolean> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + sendForMs;
    let hasSent = false;
    while (clock.monotonicMs() < untilMs && (await this.#leads())) {
      const pending = await this.#pending(receiver);
      if (pending === null) break;
      hasSent = true;
      if (!(await this.#send(receiver, pending))) break;
    }
    return hasSent;
  }

  /** The post to send now: the stored one, or the next. Null if there is none, or if it is not due. */
  async #pending(receiver: Receiver): Promise<PendingPost | null> {
    const { feed } = this.#options.store;
    const state = (await feed.push.state()) ?? (await this.#begin(receiver));
    if (state === null) return null;
    const { pendingId, attempts } = state;
    if (pendingId === null) return this.#next(state);
    if (this.#accepted === pendingId) {
      await feed.push.accept(pendingId, this.#options.clock.wallMs());
      return this.#next({ throughId: pendingId });
    }
    if (!this.#isDue(state, receiver)) return null;
    const body = await feed.push.body(pendingId);
    return body === null ? null : { pendingId, attempts, body };
  }

  async #begin({ sinceMs }: Receiver): Promise<FeedPush | null> {
    const { clock, store } = this.#options;
    const { feed } = store;
    const throughId = sinceMs === null ? 0 : await feed.placeBefore(sinceMs);
    await feed.push.begin(throughId, clock.wallMs());
    return feed.push.state();
  }

  async #next({ throughId: afterId }: Pick<FeedPush, "throughId">): Promise<PendingPost | null> {
    const { feed } = this.#options.store;
    // While nothing is written, this one query every second is all that the feed costs.
    if ((await feed.lagAfter(afterId)).entries === 0) return null;
    const data = (await feed.entries(afterId, entriesPerPost)).map(feedDocument);
    const last = data.at(-1);
    if (last === undefined) return null;
    const untold = (await feed.restores()).filter(({ isTold }) => !isTold);
    const body = JSON.stringify({ ...(await restoredOf(feed, untold)), data });
    const post = { afterId, pendingId: last.id, body };
    return (await feed.push.prepare(post)) ? { ...post, attempts: 0 } : null;
  }

  #isDue({ stoppedFor, dueAtMs }: FeedPush, receiver: Receiver): boolean {
    const digest = digestOf(receiver);
    if (stoppedFor !== null) return stoppedFor !== digest;
    if (this.#receiver !== null && this.#receiver !== digest) return true;
    const waitMs = dueAtMs - this.#options.clock.wallMs();
    // A pause that is too long was computed before the clock was set back.
    return waitMs <= 0 || waitMs > maxPauseMs;
  }

  /** Returns whether the receiver has accepted it. */
  async #send(receiver: Receiver, { pendingId, attempts, body }: PendingPost): Promise<boolean> {
    const { clock, log, store } = this.#options;
    const { push } = store.feed;
    const { signal } = this.#stopping;
    this.#receiver = digestOf(receiver);
    const headers = { "idempotency-key": lastCursorIn(body) };
    const { status, problem } = await postSigned(receiver, { body, nowMs: clock.wallMs(), headers, signal });
    const nowMs = clock.wallMs();
    if (problem === null) {
      this.posts.accepted += 1;
      this.#accepted = pendingId;
      await push.accept(pendingId, nowMs);
      if (attempts > 0) log.info({ entry: pendingId }, "the feed's receiver has accepted the post");
      return true;
    }
    if (signal.aborted) return false;
    if (status !== null && status >= 400 && status < 500 && !passing.includes(status)) {
      this.posts.rejected += 1;
      log.error({ entry: pendingId }, `the ledger's feed has stopped: its receiver ${problem}`);
      await push.stop(pendingId, { atMs: nowMs, problem, receiver: digestOf(receiver) });
      return false;
    }
    this.posts.failed += 1;
    if (attempts === 0)
      log.warn({ entry: pendingId }, `the feed is not delivered yet: its receiver ${problem}`);
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempts, 10), maxPauseMs);
    await push.postpone(pendingId, nowMs + pauseMs, problem);
    return false;
  }
}

interface PendingPost {
  readonly pendingId: number;
  readonly attempts: number;
  readonly body: string;
}

/** Names the post. After a restore a new entry can have the id of a lost one, but not its cursor. */
function lastCursorIn(body: string): string {
  // Written by `#next`.
  const { data } = JSON.parse(body) as { data: readonly FeedDocument[] };
  return data.at(-1)?.cursor ?? "";
}

/** Identifies a receiver without its secrets. */
function digestOf({ url, secret }: Receiver): string {
  return createHash("sha256")
    .update(JSON.stringify([url, secret]))
    .digest("base64url");
}
