import type { Clock } from "../../base/clock.ts";

/** Answers cached by name. Callers that ask while one is being computed share its promise. */
export class CachedAnswers<Value> {
  readonly #clock: Clock;
  readonly #byName = new Map<string, { readonly value: Promise<Value>; readonly madeAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string, forMs: number, make: () => Promise<Value>): Promise<Value> {
    const nowMs = this.#clock.monotonicMs();
    const cached = this.#byName.get(name);
    if (cached !== undefined && nowMs - cached.madeAtMs < forMs) return cached.value;
    const value = make();
    this.#byName.set(name, { value, madeAtMs: nowMs });
    value.catch(() => this.#byName.delete(name));
    return value;
  }
}
