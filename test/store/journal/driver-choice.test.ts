import { describe, expect, test } from "bun:test";
import { DriverChoice } from "../../../src/store/journal/driver-choice.ts";

function observe(choice: DriverChoice, commitsMs: readonly number[]): void {
  for (const commitMs of commitsMs) choice.observe(commitMs);
}

const times = (count: number, commitMs: number) => Array.from({ length: count }, () => commitMs);

describe("the journal's driver", () => {
  test("stays inline on a quick disk, whatever single commits take", () => {
    const choice = new DriverChoice("inline");
    for (let round = 0; round < 100; round += 1) observe(choice, [...times(15, 0.1), 400]);
    for (let round = 0; round < 100; round += 1) observe(choice, [...times(10, 0.1), ...times(6, 3)]);
    observe(choice, times(100, 3));
    expect(choice.driver).toBe("inline");
  });

  test("changes to the thread after three stalls", () => {
    const choice = new DriverChoice("inline");
    observe(choice, [2_000, 0.1, 2_000]);
    expect(choice.driver).toBe("inline");
    choice.observe(2_000);
    expect(choice.driver).toBe("thread");
  });

  test("changes to the thread when most commits are a little slow", () => {
    const choice = new DriverChoice("inline");
    observe(choice, times(15, 4));
    expect(choice.driver).toBe("inline");
    choice.observe(4);
    expect(choice.driver).toBe("thread");
  });

  test("comes back when nearly all of many commits were quick, and not within ten seconds", () => {
    let nowMs = 0;
    const choice = new DriverChoice("thread", () => nowMs);
    observe(choice, times(200, 0.1));
    expect(choice.driver).toBe("thread");
    observe(choice, [5, 5, 5, 5]);
    nowMs = 10_000;
    observe(choice, times(59, 0.1));
    expect(choice.driver).toBe("thread");
    observe(choice, times(2, 0.1));
    expect(choice.driver).toBe("inline");
  });

  test("begins to count anew after a change, also after one that could not be made", () => {
    const choice = new DriverChoice("inline");
    observe(choice, times(3, 50));
    choice.decide("inline");
    observe(choice, times(2, 50));
    expect(choice.driver).toBe("inline");
    choice.observe(50);
    expect(choice.driver).toBe("thread");
  });
});
