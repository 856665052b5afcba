import { expect, test } from "bun:test";
import { maxTokens, noUsage } from "../../src/base/usage/usage.ts";
import { clampUsage, type UsageBounds } from "../../src/gateway/charge/usage-evidence.ts";

const terms: UsageBounds = { contextWindow: 1000, mayRepeat: false, held: { input: 50, output: 20 } };
const used = (inputTokens: number, outputTokens: number) => ({ ...noUsage, inputTokens, outputTokens });

test("what fits the window is believed, be it above what was held for", () => {
  for (const usage of [used(1000, 1000), used(0, 0), { ...used(900, 5), cachedInputTokens: 100 }]) {
    expect(clampUsage(usage, terms)).toBe(usage);
  }
});

test("a side that does not fit is at most what was held for, and the other is believed", () => {
  expect(clampUsage(used(1001, 1000), terms)).toEqual({ ...used(50, 1000), isInputDoubtful: true });
  expect(clampUsage(used(1000, 1001), terms)).toEqual({ ...used(1000, 20), isOutputDoubtful: true });
  const parts = { ...noUsage, inputTokens: 400, cachedInputTokens: 300, cacheWriteTokens: 301 };
  expect(clampUsage(parts, terms)).toEqual({ ...noUsage, cacheWriteTokens: 50, isInputDoubtful: true });
});

test("reasoning is a part of the output, however much of that is believed", () => {
  const usage = { ...used(10, 5000), reasoningTokens: 4000 };
  expect(clampUsage(usage, terms)).toEqual({
    ...used(10, 20),
    reasoningTokens: 20,
    isOutputDoubtful: true,
  });
});

test("several choices may write more than a window together, if that was held for", () => {
  const wide = { ...terms, held: { input: 50, output: 3000 } };
  expect(clampUsage(used(10, 3000), wide)).toEqual(used(10, 3000));
  expect(clampUsage(used(10, 3001), wide)).toEqual({ ...used(10, 3000), isOutputDoubtful: true });
});

test("runs beside the answer are not told apart in figures that are not believed", () => {
  const rounds = [{ model: null, usage: used(2000, 10) }];
  expect(clampUsage({ ...used(2010, 20), rounds }, terms)).toEqual({
    ...used(50, 20),
    isInputDoubtful: true,
  });
  const repeated = { ...used(2010, 20), rounds };
  expect(clampUsage(repeated, { ...terms, mayRepeat: true })).toBe(repeated);
});

test("without a window, or where the model may run again and again, everything up to a billion is believed", () => {
  for (const open of [
    { ...terms, contextWindow: null },
    { ...terms, mayRepeat: true },
  ]) {
    expect(clampUsage(used(maxTokens, maxTokens), open)).toEqual(used(maxTokens, maxTokens));
    expect(clampUsage(used(maxTokens + 1, 1), open)).toEqual({ ...used(50, 1), isInputDoubtful: true });
  }
});
