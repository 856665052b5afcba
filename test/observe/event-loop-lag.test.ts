import { expect, test } from "bun:test";
import { EventLoopLag } from "../../src/observe/event-loop-lag.ts";

test("a lag is reported at once, decays soon for new work, and stays visible to metrics for a while", () => {
  let nowMs = 0;
  const lag = new EventLoopLag(() => nowMs);
  nowMs = 3250;
  lag.measure();
  expect(lag.recentMs).toBe(3000);
  expect(lag.longestMs).toBe(3000);
  for (let tick = 0; tick < 10; tick += 1) {
    nowMs += 250;
    lag.measure();
  }
  expect(lag.recentMs).toBe(3000 / 2 ** 10);
  expect(lag.longestMs).toBe(3000);
  for (let tick = 0; tick < 100; tick += 1) {
    nowMs += 250;
    lag.measure();
  }
  expect(lag.longestMs).toBe(0);
  lag.stop();
});
