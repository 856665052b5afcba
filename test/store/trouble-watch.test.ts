import { expect, test } from "bun:test";
import { ProblemWatch } from "../../src/store/problem-watch.ts";
import type { StoreProblem } from "../../src/store/store.ts";
import { waitFor } from "../support/wait.ts";

test("a store in problem is told once, again when the reason changes, and when it is over", async () => {
  const store: { problem: StoreProblem | null } = { problem: null };
  const told: string[] = [];
  const watch = new ProblemWatch({
    store,
    onProblem: ({ reason }) => told.push(reason),
    onRecovered: () => told.push("recovered"),
    everyMs: 1,
  });
  watch.start();
  for (const [reason, count] of [
    ["locked", 1],
    ["full", 2],
    [null, 3],
  ] as const) {
    store.problem = reason === null ? null : { reason, advice: "wait" };
    await waitFor(() => told.length === count, "the change to be told");
    watch.look();
  }
  watch.stop();
  expect(told).toEqual(["locked", "full", "recovered"]);
});
