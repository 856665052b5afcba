/**
 * A gate that lets so many through at once. Beyond that a few may wait a short while for a place, in the
 * order they came; beyond those it says no at once, because a long queue only turns overload into
 * timeouts. Entering an open gate is one comparison and creates nothing.
 */
export interface GateOptions {
  readonly limit: number;
  readonly queueLimit: number;
  readonly waitMs: number;
}

interface Waiting {
  readonly resolve: (entered: boolean) => void;
}

export class Gate {
  readonly #options: GateOptions;
  readonly #queue = new Set<Waiting>();
  #inside = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Takes a place if one is free now. Whoever gets `true` must call `leave` exactly once. */
  tryEnter(): boolean {
    if (this.#inside >= this.#options.limit) return false;
    this.#inside += 1;
    return true;
  }

  /**
   * Takes a place now, or waits for one. A plain boolean whenever there is nothing to wait for, so that the
   * common case needs no await. `false`: no place in time, or the caller has gone.
   */
  enter(signal: AbortSignal): boolean | Promise<boolean> {
    if (signal.aborted) return false;
    if (this.tryEnter()) return true;
    if (this.#queue.size >= this.#options.queueLimit) return false;
    return this.#wait(signal);
  }

  leave(): void {
    for (const first of this.#queue) {
      this.#queue.delete(first);
      first.resolve(true);
      return;
    }
    this.#inside -= 1;
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = () => {
        if (this.#queue.delete(waiting)) settle(false);
      };
      const timer = setTimeout(giveUp, this.#options.waitMs);
      const settle = (entered: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        resolve(entered);
      };
      const waiting: Waiting = { resolve: settle };
      this.#queue.add(waiting);
      signal.addEventListener("abort", giveUp);
    });
  }
}

/** A gate per name, such as one per key; a gate that nobody uses is forgotten. */
export class Gates {
  readonly #options: GateOptions;
  readonly #gates = new Map<string, Gate>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#gates.size;
  }

  tryEnter(name: string): boolean {
    return this.#gate(name).tryEnter();
  }

  enter(name: string, signal: AbortSignal): boolean | Promise<boolean> {
    return this.#gate(name).enter(signal);
  }

  leave(name: string): void {
    const gate = this.#gates.get(name);
    if (gate === undefined) return;
    gate.leave();
    if (gate.inside === 0 && gate.waiting === 0) this.#gates.delete(name);
  }

  #gate(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = new Gate(this.#options);
      this.#gates.set(name, gate);
    }
    return gate;
  }
}
