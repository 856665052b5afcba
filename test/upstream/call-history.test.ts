import { describe, expect, test } from "bun:test";
import { CallHistory } from "../../src/upstream/health/recent-calls.ts";
import { FakeClock } from "../support/clock.ts";

function historyOf() {
  const clock = new FakeClock();
  const history = new CallHistory();
  return {
    clock,
    history,
    cancel: (calls: number, waitedMs: number) => {
      for (let call = 0; call < calls; call += 1) {
        history.began(clock.monotonicMs() - waitedMs);
        history.cancelled(clock.monotonicMs(), waitedMs);
      }
    },
    answer: (calls = 1) => {
      for (let call = 0; call < calls; call += 1) {
        history.began(clock.monotonicMs());
        history.answered(clock.monotonicMs(), clock);
      }
    },
    slow: () => history.slow(clock.monotonicMs()),
  };
}

describe("a deployment is slow", () => {
  test("if most of at least five calls were cancelled after a long wait", () => {
    const { cancel, answer, slow, clock } = historyOf();
    cancel(4, 5_000);
    expect(slow()).toBeNull();
    cancel(1, 5_000);
    expect(slow()).toEqual({ calls: 5, cancelled: 5 });
    answer(4);
    expect(slow()).toEqual({ calls: 9, cancelled: 5 });
    answer(1);
    expect(slow()).toBeNull();
    cancel(5, 10_000);
    expect(slow()).not.toBeNull();
    // Nothing has answered since, however long that is.
    clock.advance(300_000);
    expect(slow()).toEqual({ calls: 5, cancelled: 5 });
    answer(1);
    expect(slow()).toBeNull();
  });

  test("not if clients give up at once, as completions at each keystroke do", () => {
    const { cancel, slow, clock } = historyOf();
    cancel(100, 4_999);
    clock.advance(200_000);
    expect(slow()).toBeNull();
  });

  test("if five calls wait for two minutes and none is answered, and not if one is, or they fail", () => {
    const { history, answer, slow, clock } = historyOf();
    for (let call = 0; call < 5; call += 1) history.began(clock.monotonicMs());
    clock.advance(119_999);
    expect(slow()).toBeNull();
    clock.advance(1);
    expect(slow()).toEqual({ calls: 5, cancelled: 0 });
    history.failed();
    expect(slow()).toBeNull();
    history.began(clock.monotonicMs());
    expect(slow()).not.toBeNull();
    answer();
    expect(slow()).toBeNull();
  });
});

test("an answer is news if it is the first, or follows calls that failed or were cancelled", () => {
  const { history, answer, cancel, clock } = historyOf();
  const failing = { sinceMs: 1, atMs: 1, failure: "status_500", said: null };
  expect(history.answeredAtMs).toBeNull();
  answer();
  const first = clock.wallMs();
  clock.advance(1_000);
  answer();
  expect(history.answeredAtMs).toBe(first);
  const events = [
    () => cancel(1, 5_000),
    () => Object.assign(history, { failing }),
    () => Object.assign(history, { alarm: "billing" }),
  ];
  for (const event of events) {
    clock.advance(1_000);
    event();
    answer();
    expect(history.answeredAtMs).toBe(clock.wallMs());
    expect([history.alarm, history.failing]).toEqual([null, null]);
  }
});
