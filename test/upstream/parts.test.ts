import { describe, expect, test } from "bun:test";
import { DeadlineTimer } from "../../src/upstream/call/call-deadlines.ts";
import { inspectStart, inspectWhole } from "../../src/upstream/call/inspect.ts";
import { SlidingWindow } from "../../src/upstream/health/recent-calls.ts";
import { FakeClock } from "../support/clock.ts";
import { type FixtureName, fixture } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a sliding window", () => {
  test("forgets what is older than its span, step by step", () => {
    const window = new SlidingWindow(1000);
    window.add(0, true);
    window.add(450, false);
    window.add(950, true);
    expect([window.all(999), window.marked(999)]).toEqual([3, 2]);
    expect([window.all(1000), window.marked(1000)]).toEqual([2, 1]);
    expect(window.all(1450)).toBe(1);
    expect(window.all(100_000)).toBe(0);
  });

  test("counts right over a long time and after long silences", () => {
    const window = new SlidingWindow(1000);
    for (let nowMs = 0; nowMs < 50_000; nowMs += 10) window.add(nowMs, nowMs % 20 === 0);
    expect(window.all(49_990)).toBe(100);
    expect(window.marked(49_990)).toBe(50);
    window.add(1_000_000, false);
    expect([window.all(1_000_000), window.marked(1_000_000)]).toEqual([1, 0]);
  });
});

describe("deadlines", () => {
  test("expire once when due, and again when set again; never when removed", async () => {
    const clock = new FakeClock();
    const timer = new DeadlineTimer(clock);
    const expired: string[] = [];
    let looks = 0;
    const deadline = (name: string, dueMs: number) => ({
      dueMs,
      expired: () => void expired.push(name),
      tick: () => void looks++,
      hasStoodStill() {},
    });
    /** Everything that is due has expired by then. */
    const lookedAgain = () => {
      const before = looks;
      return waitFor(() => looks > before + 6, "the timer to look at each deadline twice");
    };
    const soon = deadline("soon", 100);
    const later = deadline("later", 1000);
    const removed = deadline("removed", 100);
    for (const each of [soon, later, removed]) timer.add(each);
    timer.remove(removed);
    await lookedAgain();
    expect(expired).toEqual([]);
    clock.advance(100);
    await waitFor(() => expired.length > 0, "the first deadline");
    await lookedAgain();
    expect(expired).toEqual(["soon"]);
    soon.dueMs = 200;
    clock.advance(900);
    await waitFor(() => expired.length === 3, "the others");
    expect(expired).toEqual(["soon", "soon", "later"]);
    timer.remove(soon);
    timer.remove(later);
  });
});

describe("a look at what came with status 200", () => {
  const healthy: FixtureName[] = [
    "chat/text.sse",
    "chat/crlf-comments.sse",
    "chat/tools.sse",
    "responses/text.sse",
    "responses/reasoning.sse",
    "messages/text.sse",
    "messages/thinking.sse",
  ];
  for (const name of healthy) {
    test(`${name} is fine, cut anywhere`, () => {
      const whole = bytes(fixture(name));
      for (let cut = 1; cut < Math.min(whole.length, 1500); cut += 37) {
        const start = inspectStart([whole.slice(0, cut)], false);
        expect(["more", "fine"]).toContain(String(start));
        expect(inspectStart([whole.slice(0, cut), whole.slice(cut)], false)).toBe("fine");
      }
    });
  }

  test("streams of comments go on, and are empty when they end", () => {
    expect(inspectStart([bytes(": a\n\n: b\n\n")], false)).toBe("more");
    expect(inspectStart([bytes(": a\n\n: b\n\n")], true)).toBe("empty");
    expect(inspectStart([], true)).toBe("empty");
    expect(inspectStart([bytes(`:${"x".repeat(70_000)}`)], false)).toBe("fine");
  });

  test("text about errors is no error", () => {
    const said = JSON.stringify({ choices: [{ delta: { content: '{"error":{"message":"x"}}' } }] });
    expect(inspectStart([bytes(`data: ${said}\n\n`)], false)).toBe("fine");
    expect(inspectWhole(bytes(JSON.stringify({ id: "x", text: { error: { a: 1 } } })))).toBe("fine");
    for (const name of ["chat/text.json", "responses/text.json", "messages/text.json"] as const) {
      expect(inspectWhole(bytes(fixture(name)))).toBe("fine");
    }
  });

  test("whole bodies that are no JSON object are broken", () => {
    for (const text of ["", "{", "}", "[]", '"x"', '{"a":1', "null", "  "]) {
      expect(inspectWhole(bytes(text))).toBe("broken");
    }
    expect(inspectWhole(bytes(' \n{"a":1}\r\n'))).toBe("fine");
  });
});
