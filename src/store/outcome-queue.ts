import { utcDay } from "../base/clock.ts";
import { AttemptTally, noAttemptCounts } from "./attempt-sums.ts";
import type { OutcomeRecord } from "./records.ts";
import type { Store } from "./store.ts";

export interface OutcomeQueueOptions {
  readonly store: Pick<Store, "recordOutcomes">;
  /** Called at most once per window with the number of dropped records. */
  onDropped(count: number): void;
}

/** Short enough to look up a failure right away, long enough for dozens of records to share a transaction. */
const flushEveryMs = 25;
const windowMs = 1_000;
/** Records of the same kind kept per window; the rest are only counted. */
const maxOfAKind = 50;
/** Records of all kinds kept per window, and the limit of the queue while the disk is slow. */
const maxKept = 1_000;
const maxKinds = 1_000;
/** Takes about 2 ms to write; more would delay streams. */
const maxPerCommit = 100;
const readTimeoutMs = 250;

type MutableRecord = { -readonly [Name in keyof OutcomeRecord]: OutcomeRecord[Name] };

/**
 * Writes the outcomes of uncharged requests to the request log. A client in a loop may be rejected ten thousand times a
 * second, so both the queue and the writes are limited. After the first few of a second, records of the same kind are
 * collapsed into one that counts for all of them. Further records are dropped, and the drops are counted and reported.
 * At most one transaction is in flight, so that charges never wait for more than one.
 */
export class OutcomeQueue {
  readonly #options: OutcomeQueueOptions;
  #ready: OutcomeRecord[] = [];
  /** Number of records of each kind in this window. */
  #kinds = new Map<string, number>();
  #collapsed = new Map<string, MutableRecord>();
  /** Summed up, so that no attempt is lost when records are collapsed or dropped. */
  readonly #attempts = new AttemptTally();
  #keptInWindow = 0;
  #droppedInWindow = 0;
  #windowEndsMs = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writing: Promise<void> | null = null;
  #dropped = 0;

  constructor(options: OutcomeQueueOptions) {
    this.#options = options;
  }

  /** Dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** `attempts` are the ones that a provider may bill. */
  take(record: OutcomeRecord, attempts = noAttemptCounts): void {
    for (const attempt of attempts) this.#attempts.add(utcDay(record.atMs), attempt);
    const nowMs = performance.now();
    if (nowMs >= this.#windowEndsMs) this.#startWindow(nowMs);
    const kind = kindOf(record);
    const seen = (this.#kinds.get(kind) ?? 0) + 1;
    const isNewKind = seen === 1;
    if (isNewKind && this.#kinds.size >= maxKinds) {
      this.#drop(1);
      return;
    }
    this.#kinds.set(kind, seen);
    if (seen <= maxOfAKind && this.#keptInWindow < maxKept && this.#ready.length < maxKept) {
      this.#keptInWindow += 1;
      this.#ready.push(record);
    } else {
      this.#collapse(kind, record);
    }
    this.#timer ??= setTimeout(() => this.#tick(), flushEveryMs);
  }

  /** Call before reading reports. Gives up after a moment, so that a store that cannot write does not block reads. */
  async flush(): Promise<void> {
    if (this.#ready.length === 0 && this.#writing === null) return;
    await Promise.race([this.#flush(), Bun.sleep(readTimeoutMs)]);
  }

  /** Writes the queue. Nothing may be added afterwards. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#writing;
    this.#startWindow(0);
    await this.#flush();
  }

  #flush(): Promise<void> {
    this.#writing ??= this.#writeReady().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  #collapse(kind: string, record: OutcomeRecord): void {
    const known = this.#collapsed.get(kind);
    if (known === undefined) this.#collapsed.set(kind, { ...record });
    else known.alike += 1 + record.alike;
  }

  #tick(): void {
    this.#timer = null;
    const nowMs = performance.now();
    if (this.#collapsed.size > 0 && nowMs >= this.#windowEndsMs) this.#startWindow(nowMs);
    if (this.#ready.length > 0) void this.#flush();
    if (this.#collapsed.size > 0) this.#timer = setTimeout(() => this.#tick(), flushEveryMs);
  }

  /** Queues the collapsed records of the previous window. What exceeds the queue of a slow disk is dropped. */
  #startWindow(nowMs: number): void {
    for (const record of this.#collapsed.values()) {
      if (this.#ready.length < 2 * maxKept) this.#ready.push(record);
      else this.#drop(1 + record.alike);
    }
    if (this.#droppedInWindow > 0) this.#options.onDropped(this.#droppedInWindow);
    this.#collapsed = new Map();
    this.#kinds = new Map();
    this.#keptInWindow = 0;
    this.#droppedInWindow = 0;
    this.#windowEndsMs = nowMs + windowMs;
  }

  async #writeReady(): Promise<void> {
    while (this.#ready.length > 0) {
      const records = this.#ready.splice(0, maxPerCommit);
      try {
        await this.#options.store.recordOutcomes(records, this.#attempts.take());
      } catch {
        // The store reports why it cannot write.
        this.#drop(records.reduce((sum, { alike }) => sum + 1 + alike, 0));
      }
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#droppedInWindow += count;
  }
}

/** All fields that reports group or filter by. */
function kindOf({ keyId, outcome, code, route, model, provider, labels }: OutcomeRecord): string {
  return `${keyId} ${outcome} ${code} ${route} ${model} ${provider} ${labels}`;
}
