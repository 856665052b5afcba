import { expect, test } from "bun:test";
import { StoreWatcher } from "../../src/store/watcher.ts";
import { noValueCaps } from "../ledger/no-value-caps.ts";
import { waitFor } from "../support/wait.ts";

test("all who ask while a look is under way share the next one, which sees what was changed meanwhile", async () => {
  const looks: PromiseWithResolvers<void>[] = [];
  const applied: number[] = [];
  let revision = 1;
  const watcher = new StoreWatcher({
    store: {
      async currentRevision() {
        const seen = revision;
        const look = Promise.withResolvers<void>();
        looks.push(look);
        await look.promise;
        return seen;
      },
      changesSince: async () => ({
        revision,
        accounts: [],
        keys: [],
        signIns: [],
        valueCaps: noValueCaps,
        entries: [],
      }),
    },
    revision,
    apply: (changes) => applied.push(changes.revision),
    onError: () => {},
    everyMs: null,
  });
  const first = watcher.refresh();
  await waitFor(() => looks.length === 1, "the first look to begin");
  revision = 2;
  const later = Array.from({ length: 50 }, () => watcher.refresh());
  expect(looks).toHaveLength(1);
  looks[0]?.resolve();
  await first;
  expect(applied).toEqual([]);
  await waitFor(() => looks.length === 2, "the second look to begin");
  looks[1]?.resolve();
  await Promise.all(later);
  expect(applied).toEqual([2]);
  expect(looks).toHaveLength(2);
});

test("a look that fails is told to all who share it, and the next one is made anew", async () => {
  let looks = 0;
  const watcher = new StoreWatcher({
    store: {
      currentRevision: async () => {
        looks += 1;
        if (looks === 1) throw new Error("database is locked");
        return 1;
      },
      changesSince: () => Promise.reject(new Error("nothing has changed")),
    },
    revision: 1,
    apply: () => {},
    onError: () => {},
    everyMs: null,
  });
  const outcomes = await Promise.allSettled([watcher.refresh(), watcher.refresh()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(looks).toBe(1);
  await watcher.refresh();
  expect(looks).toBe(2);
});

test("a database that is away is told once, and again only after it was there", async () => {
  let looks = 0;
  let isAway = true;
  const told: unknown[] = [];
  const watcher = new StoreWatcher({
    store: {
      currentRevision: async () => {
        looks += 1;
        await Bun.sleep(3);
        if (isAway) throw new Error("away");
        return 1;
      },
      changesSince: () => Promise.reject(new Error("nothing has changed")),
    },
    revision: 1,
    apply: () => {},
    onError: (error) => told.push(error),
    everyMs: 1,
  });
  const looksMore = (count: number) => {
    const from = looks;
    return waitFor(() => looks > from + count, "more looks");
  };
  watcher.start();
  await looksMore(5);
  expect(told).toHaveLength(1);
  isAway = false;
  await looksMore(2);
  isAway = true;
  await looksMore(5);
  await watcher.stop();
  expect(told).toHaveLength(2);
});
