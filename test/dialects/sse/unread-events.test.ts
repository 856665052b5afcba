import { expect, test } from "bun:test";
import { UnreadEvents } from "../../../src/dialects/sse/unread-events.ts";
import { seededRandom } from "../../support/random.ts";

test("events of any length are taken once, in the order in which they came", () => {
  const random = seededRandom(5);
  const unread = new UnreadEvents();
  for (let round = 0; round < 50; round += 1) {
    const runs = Array.from(
      { length: random.below(40) },
      (_, at) => `${round}.${at}:${"x".repeat(random.below(700))};`,
    );
    for (const run of runs) {
      const arrived = Buffer.from(run);
      unread.add(arrived);
      // Long ones are kept as they are.
      if (arrived.length < 512) arrived.fill("?");
    }
    expect(unread.bytes).toBe(runs.join("").length);
    expect(Buffer.concat(unread.take()).toString()).toBe(runs.join(""));
    expect(unread.bytes).toBe(0);
  }
  expect(unread.take()).toEqual([]);
});
