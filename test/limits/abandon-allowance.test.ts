import { expect, test } from "bun:test";
import { AbandonAllowance } from "../../src/limits/abandon-allowance.ts";
import { FakeClock } from "../support/clock.ts";

const hourMs = 3_600_000;
const tenth = 100_000_000;

function allowance({ charged = 0, nodes = 1 } = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const known = { charged, nodes };
  const abandoned = new AbandonAllowance({
    clock,
    chargedSince: async (accountId) => {
      asked.push(accountId);
      return known.charged;
    },
    liveNodes: async () => known.nodes,
  });
  return { clock, abandoned, asked, known };
}

test("a tenth of a credit is free, and so is the call that crosses it", async () => {
  const { abandoned, asked } = allowance();
  expect(await abandoned.covers("a", "credit", tenth - 1)).toBe(true);
  expect(asked).toEqual([]);
  expect(await abandoned.covers("a", "credit", 4 * tenth)).toBe(true);
  expect(await abandoned.covers("a", "credit", 1)).toBe(false);
  expect(await abandoned.covers("b", "credit", 1)).toBe(true);
});

test("ten thousand tokens are free in a token budget", async () => {
  const { abandoned } = allowance();
  expect(await abandoned.covers("a", "token_budget", 9_999)).toBe(true);
  expect(await abandoned.covers("a", "token_budget", 1)).toBe(true);
  expect(await abandoned.covers("a", "token_budget", 1)).toBe(false);
});

test("an account that was charged much has a hundredth of it, asked for once a minute", async () => {
  const { clock, abandoned, asked, known } = allowance({ charged: 20_000_000_000 });
  expect(await abandoned.covers("a", "credit", tenth)).toBe(true);
  expect(await abandoned.covers("a", "credit", tenth)).toBe(true);
  expect(await abandoned.covers("a", "credit", 1)).toBe(false);
  expect(asked).toEqual(["a"]);
  known.charged = 30_000_000_000;
  expect(await abandoned.covers("a", "credit", 1)).toBe(false);
  clock.advance(60_000);
  expect(await abandoned.covers("a", "credit", 1)).toBe(true);
  expect(asked).toEqual(["a", "a"]);
});

test("calls that end together do not share what is left", async () => {
  const { abandoned } = allowance();
  const covered = await Promise.all(
    Array.from({ length: 25 }, () => abandoned.covers("a", "credit", tenth / 2)),
  );
  expect(covered.filter((isFree) => isFree)).toHaveLength(2);
});

test("what was free a day ago counts no more, and is forgotten", async () => {
  const { clock, abandoned } = allowance();
  expect(await abandoned.covers("a", "credit", tenth)).toBe(true);
  clock.advance(23 * hourMs);
  expect(await abandoned.covers("a", "credit", 1)).toBe(false);
  clock.advance(2 * hourMs);
  expect(await abandoned.covers("b", "credit", 1)).toBe(true);
  expect(abandoned.size).toBe(1);
  expect(await abandoned.covers("a", "credit", 1)).toBe(true);
});

test("each of several nodes has its share, so that all together grant the allowance once", async () => {
  const nodes = Array.from({ length: 4 }, () => allowance({ nodes: 4 }).abandoned);
  let granted = 0;
  for (const node of nodes) {
    while (await node.covers("a", "credit", tenth / 100)) granted += tenth / 100;
  }
  expect(granted).toBe(tenth);
});

test("a database that does not answer leaves what every account has", async () => {
  const clock = new FakeClock();
  const away = async () => {
    throw new Error("away");
  };
  const abandoned = new AbandonAllowance({ clock, chargedSince: away, liveNodes: away });
  expect(await abandoned.covers("a", "credit", tenth)).toBe(true);
  expect(await abandoned.covers("a", "credit", 1)).toBe(false);
});
