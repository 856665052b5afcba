import { expect, test } from "bun:test";
import { disorderMs, lastIdBefore } from "../../src/store/reporting/seek-time.ts";

const minuteMs = 60_000;

/** One row a minute, of which every tenth was written late, and the first hundred are pruned. */
function timeAt(id: number): number {
  const row = Math.max(id, 100);
  return row > 1000 ? Number.POSITIVE_INFINITY : row * minuteMs - (row % 10 === 0 ? disorderMs - 1 : 0);
}

test("a search begins no earlier than the last row before a time, and hardly later", async () => {
  for (const untilMs of [0, 99.5, 100.5, 333, 500.5, 999.5, 1000.5, 5000].map(
    (minute) => minute * minuteMs,
  )) {
    let asked = 0;
    const first = await lastIdBefore(untilMs, 1000, (id) => {
      asked += 1;
      return timeAt(id);
    });
    const ids = Array.from({ length: 1000 }, (_, index) => index + 1);
    const wanted = ids.findLast((id) => id >= 100 && timeAt(id) < untilMs) ?? 0;
    expect(first).toBeGreaterThanOrEqual(wanted);
    expect(first).toBeLessThanOrEqual(Math.max(wanted, 99) + 3);
    expect(asked).toBeLessThanOrEqual(11);
  }
});
