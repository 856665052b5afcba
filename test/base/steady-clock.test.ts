import { expect, test } from "bun:test";
import { doubtedForMs, msPerDay, SteadyClock } from "../../src/base/clock.ts";
import { FakeClock } from "../support/clock.ts";

const startMs = Date.UTC(2026, 10, 16, 12);

function clocks(latestMs = 0) {
  const system = new FakeClock(startMs);
  return { system, steady: new SteadyClock(system, latestMs) };
}

test("a clock that is set back for a moment runs on", () => {
  const { system, steady } = clocks();
  expect(steady.wallMs()).toBe(startMs);
  system.jumpWall(-10 * msPerDay);
  expect(steady.wallMs()).toBe(startMs);
  system.advance(doubtedForMs - 1);
  expect(steady.wallMs()).toBe(startMs + doubtedForMs - 1);
  system.jumpWall(10 * msPerDay + 5);
  expect(steady.wallMs()).toBe(startMs + doubtedForMs + 4);
  // The next doubt starts from zero.
  system.jumpWall(-msPerDay);
  expect(steady.wallMs()).toBe(startMs + doubtedForMs + 4);
  system.advance(2);
  expect(steady.wallMs()).toBe(startMs + doubtedForMs + 6);
});

test("a clock that stays behind is believed", () => {
  const { system, steady } = clocks();
  steady.wallMs();
  system.jumpWall(-msPerDay);
  steady.wallMs();
  system.advance(doubtedForMs);
  expect(steady.wallMs()).toBe(startMs - msPerDay + doubtedForMs);
  system.advance(1);
  expect(steady.wallMs()).toBe(startMs - msPerDay + doubtedForMs + 1);
});

test("a start before the last process's time runs on from there", () => {
  const { system, steady } = clocks(startMs + msPerDay);
  expect(steady.wallMs()).toBe(startMs + msPerDay);
  system.advance(1_000);
  expect(steady.wallMs()).toBe(startMs + msPerDay + 1_000);
});

test("a clock that was never set is never believed", () => {
  const { system, steady } = clocks();
  steady.wallMs();
  system.jumpWall(-startMs);
  steady.wallMs();
  system.advance(msPerDay);
  expect(steady.wallMs()).toBe(startMs + msPerDay);
});
