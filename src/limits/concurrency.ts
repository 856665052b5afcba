import { ChurnMap } from "../base/collections/churn-map.ts";
import { startDeadline } from "../base/loop/deadline.ts";

export interface GateOptions {
  readonly limit: number;
  readonly queueLimit: number;
  readonly waitMs: number;
}

/**
 * Limits concurrency. Beyond the limit a few callers may wait briefly, in FIFO order. The rest are rejected at once,
 * because a long queue only turns overload into timeouts. Entering below the limit is one comparison and allocates
 * nothing.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #queue: ((entered: boolean) => void)[] = [];
  #inside = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get inside(): number {
    return this.#inside;
  }

  /** Whether more than half of its slots are taken. */
  get isHalfTaken(): boolean {
    return this.#inside > this.#options.limit / 2;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Takes a slot if one is free. After `true` the caller must call `leave` exactly once. */
  tryEnter(): boolean {
    if (this.#inside >= this.#options.limit) return false;
    this.#inside += 1;
    return true;
  }

  /**
   * Takes a slot, or waits for one. Returns a plain boolean if there is nothing to wait for, so that the common case
   * needs no await. `false`: no slot in time, or the caller disconnected.
   */
  enter(signal: AbortSignal): boolean | Promise<boolean> {
    if (signal.aborted) return false;
    if (this.tryEnter()) return true;
    if (this.#queue.length >= this.#options.queueLimit) return false;
    return this.#wait(signal);
  }

  /** Wakes the longest waiting caller first. A reload may have changed the limit. */
  leave(): void {
    this.#inside -= 1;
    while (this.#queue.length > 0 && this.tryEnter()) this.#queue.shift()?.(true);
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = () => {
        const at = this.#queue.indexOf(settle);
        if (at === -1) return;
        this.#queue.splice(at, 1);
        settle(false);
      };
      const cancelDeadline = startDeadline(this.#options.waitMs, giveUp);
      const settle = (entered: boolean) => {
        cancelDeadline();
        signal.removeEventListener("abort", giveUp);
        resolve(entered);
      };
      this.#queue.push(settle);
      signal.addEventListener("abort", giveUp);
    });
  }
}

/** One gate per name, e.g. per key. Unused gates are dropped. */
export class Gates {
  readonly #options: GateOptions;
  readonly #gates = new ChurnMap<string, Gate>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  readonly #newGate = () => new Gate(this.#options);

  get size(): number {
    return this.#gates.size;
  }

  tryEnter(name: string): boolean {
    return this.#gateOf(name).tryEnter();
  }

  /** Takes a slot if one is free, for a caller that may end in several ways. */
  tryTake(name: string): Slot | null {
    return this.tryEnter(name) ? new Slot(() => this.leave(name)) : null;
  }

  enter(name: string, signal: AbortSignal): boolean | Promise<boolean> {
    return this.#gateOf(name).enter(signal);
  }

  leave(name: string): void {
    const gate = this.#gates.get(name);
    if (gate === undefined) return;
    gate.leave();
    if (gate.inside === 0 && gate.waiting === 0) this.#gates.delete(name);
  }

  #gateOf(name: string): Gate {
    return this.#gates.getOrInsertComputed(name, this.#newGate);
  }
}

/** A slot of a gate. */
export class Slot {
  #leave: (() => void) | null;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  /** Safe to call more than once. */
  release(): void {
    this.#leave?.();
    this.#leave = null;
  }
}
