import { type Clock, msPerDay } from "../base/clock.ts";
import { nextLoopIteration } from "../base/loop/pacer.ts";
import type { Store, StoredResponse } from "../store/store.ts";
import { type Claim, type ClaimResult, notKept } from "./claims.ts";
import { ResponseRecorder, wasNotKept } from "./recorder.ts";
import { StoredBytes } from "./stored-bytes.ts";

const keptForMs = msPerDay;
const prunedAtOnce = 200;

const uncounted: Pick<StoredBytes, "take" | "end"> = { take: () => true, end: () => {} };

/**
 * How long responses are stored for replay. A jump of the clock must not expire a response, or its retry would be
 * charged again; keeping one longer is harmless. So responses are dated by the later of the wall clock and the time
 * that really passed, and expire by the earlier.
 */
export abstract class StoredResponses {
  protected readonly store: Store;
  protected readonly clock: Clock;
  protected readonly kept: StoredBytes;
  /** Both clocks at the start: they show how far the wall clock should have moved since. */
  readonly #startWallMs: number;
  readonly #startMonotonicMs: number;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.store = store;
    this.clock = clock;
    this.kept = new StoredBytes(store, clock);
    this.#startWallMs = clock.wallMs();
    this.#startMonotonicMs = clock.monotonicMs();
  }

  record(claim: Claim, maxBytes: number): ResponseRecorder {
    const { store, kept } = this;
    return new ResponseRecorder({ store, kept, maxBytes, nowMs: () => this.#storingMs() }, claim);
  }

  recordResult(claim: Claim, longerMs: number): ResponseRecorder {
    const { store } = this;
    const nowMs = () => this.#storingMs() + longerMs;
    return new ResponseRecorder({ store, kept: uncounted, maxBytes: Number.POSITIVE_INFINITY, nowMs }, claim);
  }

  keptBytes(keyId: string): number {
    return this.kept.of(keyId);
  }

  /** Throws if only the fact was stored that there was a response. */
  protected replay(response: StoredResponse): ClaimResult {
    if (wasNotKept(response)) throw notKept();
    return { kind: "replay", response };
  }

  /** Deletes responses older than a day, a few per transaction. Returns how many. */
  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const gone = await this.store.pruneStoredResponses(this.oldestStoredMs(), prunedAtOnce);
      pruned += gone;
      if (gone === 0) return pruned;
      await nextLoopIteration();
    }
  }

  oldestStoredMs(): number {
    return Math.floor(Math.min(this.clock.wallMs(), this.#passedWallMs())) - keptForMs;
  }

  #storingMs(): number {
    return Math.floor(Math.max(this.clock.wallMs(), this.#passedWallMs()));
  }

  #passedWallMs(): number {
    return this.#startWallMs + this.clock.monotonicMs() - this.#startMonotonicMs;
  }
}
