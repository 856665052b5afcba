import type { ExchangeEnding } from "./records.ts";
import type { Store } from "./store.ts";

export interface EndingQueueOptions {
  readonly store: Pick<Store, "commit">;
  /** Called at most once a window with how many endings were neither kept nor counted. */
  onDropped(count: number): void;
}

/** Soon enough for whoever looks up a failure at once, and dozens of endings share a transaction. */
const flushEveryMs = 25;
const windowMs = 1_000;
/** Of the same kind within a window; further ones are only counted. */
const mostOfAKind = 50;
/** Of any kind within a window, and waiting while the disk is slow. */
const mostKept = 1_000;
const mostKinds = 1_000;
/** So many take about 2 ms to write: more would let streams wait. */
const mostPerCommit = 100;
const readersPatienceMs = 250;

type Collapsed = { -readonly [Name in keyof ExchangeEnding]: ExchangeEnding[Name] };

/**
 * Brings endings that nothing was charged for to the store. A client in a loop may be refused ten thousand times a
 * second, so what is written and what waits is bounded: endings of the same kind beyond the first few of a second
 * become one that counts for all of them, and what exceeds even that is dropped, counted and reported. One transaction
 * at a time is on its way, so that charges wait for no more than that.
 */
export class EndingQueue {
  readonly #options: EndingQueueOptions;
  #ready: ExchangeEnding[] = [];
  /** How many of each kind this window has seen. */
  readonly #kinds = new Map<string, number>();
  readonly #collapsed = new Map<string, Collapsed>();
  #keptInWindow = 0;
  #droppedInWindow = 0;
  #windowEndsMs = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writing: Promise<void> | null = null;
  #dropped = 0;

  constructor(options: EndingQueueOptions) {
    this.#options = options;
  }

  /** Neither kept nor counted, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  take(ending: ExchangeEnding): void {
    const nowMs = performance.now();
    if (nowMs >= this.#windowEndsMs) this.#startWindow(nowMs);
    const kind = kindOf(ending);
    const seen = (this.#kinds.get(kind) ?? 0) + 1;
    const isNewKind = seen === 1;
    if (isNewKind && this.#kinds.size >= mostKinds) {
      this.#drop(1);
      return;
    }
    this.#kinds.set(kind, seen);
    if (seen <= mostOfAKind && this.#keptInWindow < mostKept && this.#ready.length < mostKept) {
      this.#keptInWindow += 1;
      this.#ready.push(ending);
    } else {
      this.#collapse(kind, ending);
    }
    this.#timer ??= setTimeout(() => this.#tick(), flushEveryMs);
  }

  /** For whoever reads right afterwards. A store that cannot write now must not keep an operator from looking. */
  async flush(): Promise<void> {
    if (this.#ready.length === 0 && this.#writing === null) return;
    await Promise.race([this.#flush(), Bun.sleep(readersPatienceMs)]);
  }

  /** Writes what waits; nothing may be taken afterwards. */
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

  #collapse(kind: string, ending: ExchangeEnding): void {
    const known = this.#collapsed.get(kind);
    if (known === undefined) this.#collapsed.set(kind, { ...ending });
    else known.alike += 1 + ending.alike;
  }

  #tick(): void {
    this.#timer = null;
    const nowMs = performance.now();
    if (this.#collapsed.size > 0 && nowMs >= this.#windowEndsMs) this.#startWindow(nowMs);
    if (this.#ready.length > 0) void this.#flush();
    if (this.#collapsed.size > 0) this.#timer = setTimeout(() => this.#tick(), flushEveryMs);
  }

  /** What the window before has collapsed is ready now; what does not fit behind a slow disk is dropped. */
  #startWindow(nowMs: number): void {
    for (const ending of this.#collapsed.values()) {
      if (this.#ready.length < 2 * mostKept) this.#ready.push(ending);
      else this.#drop(1 + ending.alike);
    }
    if (this.#droppedInWindow > 0) this.#options.onDropped(this.#droppedInWindow);
    this.#collapsed.clear();
    this.#kinds.clear();
    this.#keptInWindow = 0;
    this.#droppedInWindow = 0;
    this.#windowEndsMs = nowMs + windowMs;
  }

  async #writeReady(): Promise<void> {
    while (this.#ready.length > 0) {
      const endings = this.#ready.splice(0, mostPerCommit);
      try {
        await this.#options.store.commit([{ kind: "endings", endings }]);
      } catch {
        // The store itself says why it cannot write.
        this.#drop(endings.reduce((sum, { alike }) => sum + 1 + alike, 0));
      }
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#droppedInWindow += count;
  }
}

/** Everything that reports tell apart. */
function kindOf({ keyId, outcome, code, route, model, provider }: ExchangeEnding): string {
  return `${keyId} ${outcome} ${code} ${route} ${model} ${provider}`;
}
