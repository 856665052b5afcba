import { expect, test } from "bun:test";
import { noUsage } from "../../src/base/usage/usage.ts";
import { StreamFindings } from "../../src/dialects/provider-response/stream-findings.ts";
import { isEndOverdue } from "../../src/gateway/response/pending-response.ts";

/** A provider that has written everything. */
const complete = relayer({ hasUsage: true });

function relayer({ isStarted = true, hasUsage = false, isComplete = true }) {
  const found = new StreamFindings();
  if (isStarted) found.add([{ type: "written", text: "Hi", encryptedChars: 0 }]);
  if (hasUsage) found.add([{ type: "usage", usage: noUsage }]);
  return { found, isComplete };
}

test("the end is overdue after a second if the usage has come, and after five without", () => {
  expect(isEndOverdue(complete, 999)).toBe(false);
  expect(isEndOverdue(complete, 1_000)).toBe(true);
  expect(isEndOverdue(relayer({}), 4_999)).toBe(false);
  expect(isEndOverdue(relayer({}), 5_000)).toBe(true);
});

test("an answer that has not begun, or is not complete, has no overdue end", () => {
  expect(isEndOverdue(relayer({ isStarted: false, hasUsage: true }), 10_000)).toBe(false);
  expect(isEndOverdue(relayer({ hasUsage: true, isComplete: false }), 10_000)).toBe(false);
});
