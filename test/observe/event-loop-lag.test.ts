import { describe, expect, test } from "bun:test";
import { EventLoopLag } from "../../src/observe/event-loop-lag.ts";

describe("the event loop's lag", () => {
  test("lasts if two measurements in a row are late, and decays once they are not", () => {
    using lag = new Measured();
    lag.measureAfter(3250);
    lag.measureAfter(2250);
    expect(lag.lastingMs).toBe(2000);
    for (let tick = 0; tick < 10; tick += 1) lag.measureAfter(250);
    expect(lag.lastingMs).toBe(2000 / 2 ** 10);
  });

  test("does not last if the process only stood still once", () => {
    using lag = new Measured();
    lag.measureAfter(60_000);
    expect(lag.lastingMs).toBe(0);
    lag.measureAfter(250);
    expect(lag.lastingMs).toBe(0);
  });

  test("is visible to metrics for a while, lasting or not", () => {
    using lag = new Measured();
    lag.measureAfter(3250);
    expect(lag.longestMs).toBe(3000);
    for (let tick = 0; tick < 10; tick += 1) lag.measureAfter(250);
    expect(lag.longestMs).toBe(3000);
    for (let tick = 0; tick < 100; tick += 1) lag.measureAfter(250);
    expect(lag.longestMs).toBe(0);
  });
});

/** With a clock of its own. */
class Measured implements Disposable {
  #nowMs = 0;
  readonly #lag = new EventLoopLag(() => this.#nowMs);

  measureAfter(ms: number): void {
    this.#nowMs += ms;
    this.#lag.measure();
  }

  get lastingMs(): number {
    return this.#lag.lastingMs;
  }

  get longestMs(): number {
    return this.#lag.longestMs;
  }

  [Symbol.dispose](): void {
    this.#lag.stop();
  }
}
