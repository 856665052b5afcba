import { type Clock, utcDay } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Anchor } from "../base/money/anchor.ts";
import type { Store } from "../store/store.ts";

/** Reading and hashing these takes about two seconds. */
const entriesPerAnchor = 50_000;
const checkEveryMs = 60_000;

export interface Anchored {
  readonly store: Pick<Store, "chain" | "feed">;
  readonly clock: Clock;
}

/** Anchors everything so far, in steps. Returns the newest anchor; null without any entry. */
export async function anchorAll(
  { store: { chain }, clock }: Anchored,
  acceptsUnchained: boolean,
  isStopped: () => boolean = () => false,
): Promise<Anchor | null> {
  for (;;) {
    const before = await chain.newest();
    const anchor = await chain.anchor({ nowMs: clock.wallMs(), limit: entriesPerAnchor, acceptsUnchained });
    const added = (anchor?.entries ?? 0) - (before?.entries ?? 0);
    if (added < entriesPerAnchor || isStopped()) return anchor;
  }
}

export interface AnchorKeeperOptions extends Anchored {
  readonly onError: (error: unknown) => void;
}

/**
 * Anchors the ledger once a day, and each time that enough entries wait. So the entries from before the chain are joined in
 * steps, after the start. While an older release writes to the same database, its entries are anchored as they are.
 */
export class AnchorKeeper {
  readonly #options: AnchorKeeperOptions;
  readonly #checks = new Repeating();
  #wasMixed = false;
  #isStopped = false;

  constructor(options: AnchorKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#checks.start(checkEveryMs, () => this.check().catch(this.#options.onError));
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#checks.stop();
  }

  async check(): Promise<void> {
    const { chain } = this.#options.store;
    const isMixed = await chain.isMixed();
    const accepts = isMixed || this.#wasMixed || (await this.#isFirst());
    if (!accepts && !(await this.#isDue())) return;
    await anchorAll(this.#options, accepts, () => this.#isStopped);
    this.#wasMixed = isMixed;
  }

  /** No anchor covers an entry with a hash yet: an older release can have stopped before the first check. */
  async #isFirst(): Promise<boolean> {
    const newest = await this.#options.store.chain.newest();
    return newest === null || newest.entries === newest.unchained;
  }

  async #isDue(): Promise<boolean> {
    const { store, clock } = this.#options;
    const newest = await store.chain.newest();
    if (newest === null || utcDay(newest.atMs) < utcDay(clock.wallMs())) return true;
    return (await store.feed.lagAfter(newest.throughId)).entries >= entriesPerAnchor;
  }
}
