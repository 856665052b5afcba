import { beforeEach, expect, test } from "bun:test";
import { ModelOutcomes, type ObservedRequest } from "../../src/alerts/model-outcomes.ts";

let outcomes: ModelOutcomes;
beforeEach(() => {
  outcomes = new ModelOutcomes();
});

const minuteMs = 60_000;
const completed = { outcome: "completed", status: 200, errorCode: null } as const;
const failed = { outcome: "failed", status: 503, errorCode: "service_unavailable" } as const;

/** A request that ended at this moment, failed if nothing else is said. */
function ended(endedAtMs: number, more: Partial<ObservedRequest> = {}): void {
  const usual = { tracedAs: "chat", model: "m", firstByteMs: null, totalMs: 20, isUnlistedModel: undefined };
  outcomes.observe({ ...usual, ...failed, endedAtMs, ...more });
}

const unavailableAt = (nowMs: number) =>
  outcomes
    .unavailable(nowMs)
    .map(({ model }) => model)
    .sort();

/** Unavailable since 0. */
function unavailable(): void {
  for (let no = 0; no < 3; no += 1) ended(no);
  expect(unavailableAt(minuteMs)).toEqual(["m"]);
}

test("a model is unavailable after a minute of requests without a success", () => {
  for (let second = 0; second < 60; second += 1) {
    ended(second * 1000);
    expect(unavailableAt(second * 1000)).toEqual([]);
  }
  expect(outcomes.unavailable(minuteMs)).toEqual([
    { model: "m", sinceMs: 0, lastError: { status: 503, code: "service_unavailable" } },
  ]);
});

test("one success within the minute begins it anew, for its model alone", () => {
  for (let no = 0; no < 3; no += 1) ended(no);
  for (let no = 0; no < 3; no += 1) ended(no, { model: "other" });
  ended(30_000, completed);
  for (let no = 0; no < 3; no += 1) ended(40_000);
  expect(unavailableAt(minuteMs)).toEqual(["other"]);
  expect(unavailableAt(40_000 + minuteMs)).toEqual(["m", "other"]);
});

test("it stays unavailable until five successes in a row", () => {
  unavailable();
  for (let no = 0; no < 4; no += 1) ended(minuteMs, completed);
  expect(unavailableAt(minuteMs)).toEqual(["m"]);
  ended(minuteMs);
  for (let no = 0; no < 4; no += 1) ended(minuteMs, completed);
  expect(unavailableAt(minuteMs)).toEqual(["m"]);
  ended(minuteMs, completed);
  expect(unavailableAt(minuteMs)).toEqual([]);
});

test("two failures, and requests that the client got wrong or left soon, are no evidence", () => {
  ended(0);
  ended(0);
  for (let no = 0; no < 9; no += 1) {
    ended(0, { outcome: "rejected", status: 402, errorCode: "insufficient_credit" });
    ended(0, { outcome: "cancelled", status: 499, errorCode: null });
    ended(0, { tracedAs: null });
    ended(0, { model: null });
    ended(0, { isUnlistedModel: true });
  }
  expect(unavailableAt(minuteMs)).toEqual([]);
});

test("clients that gave up waiting count, whatever they waited for", () => {
  for (let no = 0; no < 3; no += 1)
    ended(no, { outcome: "cancelled", status: 499, errorCode: null, totalMs: 5_000 });
  expect(outcomes.unavailable(minuteMs)).toEqual([{ model: "m", sinceMs: 0, lastError: null }]);
});

test("an hour without a request ends it", () => {
  unavailable();
  expect(unavailableAt(60 * minuteMs)).toEqual(["m"]);
  expect(unavailableAt(61 * minuteMs)).toEqual([]);
});
