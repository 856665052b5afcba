import type { Clock } from "../../base/clock.ts";

/** Answers kept for a while, by name. Whoever asks while one is being made waits for the same one. */
export class Kept<Value> {
  readonly #clock: Clock;
  readonly #byName = new Map<string, { readonly value: Promise<Value>; readonly madeAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string, forMs: number, make: () => Promise<Value>): Promise<Value> {
    const nowMs = this.#clock.monotonicMs();
    const kept = this.#byName.get(name);
    if (kept !== undefined && nowMs - kept.madeAtMs < forMs) return kept.value;
    const value = make();
    this.#byName.set(name, { value, madeAtMs: nowMs });
    value.catch(() => this.#byName.delete(name));
    return value;
  }
}
