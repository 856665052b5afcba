import { expect, test } from "bun:test";
import { noUsage, type ReportedUsage } from "../../src/base/usage/usage.ts";
import { MissingEndDetector } from "../../src/gateway/answer/missing-end-detector.ts";

/** A provider that has written everything, and counts how often somebody reads it to find out. */
class Silent {
  started = true;
  partialUsage: ReportedUsage | null = noUsage;
  isAnswerComplete = true;
  looks = 0;

  isComplete(): boolean {
    this.looks += 1;
    return this.isAnswerComplete;
  }
}

test("the end is overdue after a second if the usage has come, and after five without", () => {
  const silent = new Silent();
  expect(new MissingEndDetector(silent).isOverdue(100, 1_099)).toBe(false);
  expect(new MissingEndDetector(silent).isOverdue(100, 1_100)).toBe(true);
  silent.partialUsage = null;
  expect(new MissingEndDetector(silent).isOverdue(100, 5_099)).toBe(false);
  expect(new MissingEndDetector(silent).isOverdue(100, 5_100)).toBe(true);
});

test("an answer is read to find out once per silence, and again in the next one", () => {
  const silent = new Silent();
  silent.isAnswerComplete = false;
  const end = new MissingEndDetector(silent);
  for (const nowMs of [100, 900, 1_000, 1_100, 2_000, 60_000]) expect(end.isOverdue(0, nowMs)).toBe(false);
  expect(silent.looks).toBe(1);
  silent.isAnswerComplete = true;
  expect(end.isOverdue(0, 61_000)).toBe(false);
  expect(end.isOverdue(61_000, 62_000)).toBe(true);
  expect(silent.looks).toBe(2);
});

test("a stream that has not begun is not over", () => {
  const silent = new Silent();
  silent.started = false;
  expect(new MissingEndDetector(silent).isOverdue(0, 10_000)).toBe(false);
});
