import { describe, expect, test } from "bun:test";
import { EventLoopLag } from "../../src/observe/event-loop-lag.ts";

describe("the event loop's lag", () => {
  test("is an overload at once if the process has worked meanwhile, and decays", () => {
    using lag = new Measured();
    lag.measureAfter(3250, 2000);
    expect(lag.overloadMs).toBe(3000);
    for (let tick = 0; tick < 10; tick += 1) lag.measureAfter(250, 100);
    expect(lag.overloadMs).toBe(3000 / 2 ** 10);
  });

  test("is no overload if the process only stood still once", () => {
    using lag = new Measured();
    lag.measureAfter(60_000, 20);
    expect(lag.overloadMs).toBe(0);
    lag.measureAfter(250, 100);
    expect(lag.overloadMs).toBe(0);
  });

  test("is one if the process hardly gets the processor, and is late again and again", () => {
    using lag = new Measured();
    lag.measureAfter(3250, 60);
    lag.measureAfter(2250, 60);
    expect(lag.overloadMs).toBe(2000);
  });

  test("is visible to metrics for a while, whatever caused it", () => {
    using lag = new Measured();
    lag.measureAfter(3250, 0);
    expect(lag.longestMs).toBe(3000);
    for (let tick = 0; tick < 10; tick += 1) lag.measureAfter(250, 0);
    expect(lag.longestMs).toBe(3000);
    for (let tick = 0; tick < 100; tick += 1) lag.measureAfter(250, 0);
    expect(lag.longestMs).toBe(0);
  });
});

/** With clocks of its own. */
class Measured implements Disposable {
  #nowMs = 0;
  #workedMs = 0;
  readonly #lag = new EventLoopLag(
    () => this.#nowMs,
    () => this.#workedMs,
  );

  measureAfter(ms: number, workedMs: number): void {
    this.#nowMs += ms;
    this.#workedMs += workedMs;
    this.#lag.measure();
  }

  get overloadMs(): number {
    return this.#lag.overloadMs;
  }

  get longestMs(): number {
    return this.#lag.maxMs;
  }

  [Symbol.dispose](): void {
    this.#lag.stop();
  }
}
