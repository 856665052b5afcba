import { expect, test } from "bun:test";
import { TurnShare } from "../../../src/base/loop/share.ts";

test("short turns take a few of those that wait, and long ones as many as keep them from waiting for many turns", () => {
  let nowMs = 1000;
  const share = new TurnShare(10, () => nowMs);
  share.begin();
  nowMs += 1;
  expect(share.take()).toBe(10);
  nowMs += 50;
  expect(share.take()).toBe(50);
  // Counted from turn to turn, and not from when the first began to wait.
  nowMs += 12;
  expect(share.take()).toBe(12);
  // Time in which nobody waited does not count.
  nowMs += 60_000;
  share.begin();
  expect(share.take()).toBe(10);
});
