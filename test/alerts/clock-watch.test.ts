import { expect, test } from "bun:test";
import { ClockWatch, clockDiffers } from "../../src/alerts/clock-watch.ts";
import { msPerDay, msPerHour, msPerMinute } from "../../src/base/clock.ts";
import { FakeClock } from "../support/clock.ts";

test("a clock that is set by more than five minutes is an alert for an hour, in either direction", () => {
  for (const minutes of [6, -6]) {
    const clock = new FakeClock();
    const watch = new ClockWatch(clock);
    clock.advance(7 * msPerDay);
    expect(watch.check("one")).toBeNull();
    clock.jumpWall(minutes * msPerMinute);
    expect(watch.check("one")).toMatchObject({
      kind: "clock_moved",
      subject: { type: "node", id: "one" },
      details: { moved_seconds: minutes * 60 },
    });
    clock.advance(msPerHour);
    expect(watch.check("one")).not.toBeNull();
    clock.advance(1);
    expect(watch.check("one")).toBeNull();
    clock.advance(msPerHour);
    expect(watch.check("one")).toBeNull();
  }
});

test("a clock that is set right again ends the alert at once", () => {
  const clock = new FakeClock();
  const watch = new ClockWatch(clock);
  clock.jumpWall(msPerDay);
  expect(watch.check("one")?.text).toBe(
    "The clock of gateway one was set forward by 86400 s while it ran. Check its time service.",
  );
  clock.jumpWall(-msPerDay);
  expect(watch.check("one")).toBeNull();
});

test("a clock that drifts, or is set by five minutes, is no alert", () => {
  const clock = new FakeClock();
  const watch = new ClockWatch(clock);
  for (let look = 0; look < 1_000; look += 1) {
    clock.jumpWall(900);
    expect(watch.check("one")).toBeNull();
  }
  clock.jumpWall(5 * msPerMinute);
  expect(watch.check("one")).toBeNull();
  clock.jumpWall(1);
  expect(watch.check("one")).not.toBeNull();
});

test("a node whose clock differs from the database's by more than a minute says so", () => {
  expect(clockDiffers("one", msPerMinute)).toBeNull();
  expect(clockDiffers("one", -msPerMinute)).toBeNull();
  expect(clockDiffers("one", 0)).toBeNull();
  expect(clockDiffers("one", 90_000)?.text).toBe(
    "The clock of gateway one is 90 s behind the database's, which defines periods. Check its time service.",
  );
  expect(clockDiffers("one", -90_000)).toMatchObject({
    kind: "clock_differs",
    text: expect.stringContaining("90 s ahead of the database's"),
    details: { database_ahead_seconds: -90 },
  });
});
