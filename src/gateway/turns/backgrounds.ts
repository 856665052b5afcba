import { GatewayError } from "../../base/errors.ts";
import type { Store, StoredBackground } from "../../store/store.ts";

/** A response that this process runs. */
export interface RunningBackground {
  readonly id: string;
  readonly keyId: string;
  /** Resolves when what can be read of it is final. */
  readonly ended: Promise<void>;
  /** Resolves when more of it can be read. */
  changed(): Promise<void>;
  /** Stops the provider; what was produced is charged. */
  cancel(): void;
}

/** How long the rest of a cancelled stream is read for its usage, after the last text. */
const cancelMs = 5000;
/** How long events are stored after the end. */
const keptMs = 3_600_000;

/** Events that another process adds are seen this late, and cancellations. */
const pollMs = 200;

interface BackgroundsOptions {
  readonly store: Store;
  /** The end of a response could not be stored. */
  onError(error: unknown): void;
  /** This process, among those that use the store. It changes if another one has taken it for dead. */
  node(): number;
}

/** Background responses of all processes. */
export class Backgrounds {
  readonly store: Store;
  readonly onError: BackgroundsOptions["onError"];
  readonly #node: () => number;
  readonly #running = new Map<string, RunningBackground>();
  /** Ids by key, added before they are stored, so that no key exceeds its maximum. */
  readonly #ids = new Map<string, Set<string>>();

  constructor({ store, node, onError }: BackgroundsOptions) {
    this.store = store;
    this.onError = onError;
    this.#node = node;
  }

  get node(): number {
    return this.#node();
  }

  get inFlight(): number {
    return this.#running.size;
  }

  /** Reserves a slot for a new one, which `remove` returns. Throws if the key has too many. */
  async enter(keyId: string, id: string, max: number): Promise<void> {
    const elsewhere =
      this.store.nodes === null ? 0 : await this.store.background.countElsewhere(keyId, this.node);
    const ids = this.#ids.getOrInsertComputed(keyId, () => new Set());
    if (ids.size + elsewhere >= max) throw tooMany(max);
    ids.add(id);
  }

  add(run: RunningBackground): void {
    this.#ids.getOrInsertComputed(run.keyId, () => new Set()).add(run.id);
    this.#running.set(run.id, run);
  }

  /** Called when it has ended, and only has to be stored. */
  leave(keyId: string, id: string): void {
    const ids = this.#ids.get(keyId);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(keyId);
  }

  remove(keyId: string, id: string): void {
    this.leave(keyId, id);
    this.#running.delete(id);
  }

  /** Undoes its start, if any of it was stored. */
  async forget(keyId: string, id: string, nowMs: number): Promise<void> {
    try {
      await this.delete(keyId, id, nowMs);
    } catch (error) {
      this.onError(error);
    }
  }

  running(id: string): RunningBackground | null {
    return this.#running.get(id) ?? null;
  }

  /** Resolves when more of it can be read than now: at once if this process runs it, otherwise after a poll. */
  changed(id: string): Promise<void> {
    return this.running(id)?.changed() ?? Bun.sleep(pollMs);
  }

  /** Cancels it, on any gateway. That is durable first: after a crash it is cancelled, and not run again. False if it takes long to end. */
  async cancel(keyId: string, id: string): Promise<boolean> {
    const { background } = this.store;
    await background.cancel(keyId, id);
    this.running(id)?.cancel();
    const giveUpMs = performance.now() + cancelMs;
    while (performance.now() < giveUpMs) {
      const changed = this.changed(id);
      const found = await background.find(keyId, id);
      if (found === null || found.state === "ended") return true;
      await Promise.race([changed, Bun.sleep(pollMs)]);
    }
    return false;
  }

  /** Deletes it with its events. It has ended. */
  async delete(keyId: string, id: string, nowMs: number): Promise<boolean> {
    const isDeleted = await this.store.turns.delete(keyId, id, nowMs);
    await this.store.background.delete(keyId, id);
    return isDeleted;
  }

  async prune(nowMs: number): Promise<void> {
    await this.store.background.prune(nowMs - keptMs);
  }

  /** Cancels responses whose cancellation was requested at another process. */
  async cancelRequested(): Promise<void> {
    if (this.store.nodes === null || this.#running.size === 0) return;
    for (const id of await this.store.background.cancelledOn(this.node)) this.running(id)?.cancel();
  }

  /** Responses that no process runs any more, for this one to run or to end. */
  adopt(): Promise<readonly StoredBackground[]> {
    const begun = [...this.#ids.values()].flatMap((ids) => [...ids]);
    return this.store.background.adopt(this.node, [...begun, ...this.#running.keys()]);
  }
}

function tooMany(max: number): GatewayError {
  const message = `This key has ${max} background responses, which is its limit. Wait for one to end, or cancel one.`;
  return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds: 5 });
}

/** Identifies a background response. */
export interface BackgroundPlan {
  /** The response's id, which its client gets before a provider responds. */
  readonly id: string;
  /** The client reads its events, now or later. */
  readonly isStreamed: boolean;
}

/** A request for one. */
export interface BackgroundRequest extends BackgroundPlan {
  /** The body as the client sent it. */
  readonly sent: Uint8Array;
}
