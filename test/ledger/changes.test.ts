import { expect } from "bun:test";
import { StoreWatcher } from "../../src/store/watcher.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { waitFor } from "../support/wait.ts";
import { errorOf } from "./error-of.ts";
import { holdFor, openBench } from "./fixtures.ts";

testEachJournal(
  "a top-up from another process can be spent as soon as it was seen, and counts once",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10);
    expect(errorOf(() => holdFor(bench.ledger, key, 30)).code).toBe("insufficient_credit");
    const topUp = { keyId: key.id, amountNano: 25, reference: "invoice 7", note: null, atMs: 0 };
    expect(await bench.operator.recordTopUp(topUp)).toMatchObject({ repeated: false });
    expect(await bench.operator.recordTopUp(topUp)).toMatchObject({ repeated: true });
    await Promise.all([bench.watcher.refresh(), bench.watcher.refresh()]);
    expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 35, purchased: 35 });
    expect(holdFor(bench.ledger, key, 30).state).toBe("open");
  },
);

testEachJournal("a key made by another process can spend its opening credit", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({ label: "new" }, 40);
  expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 40, purchased: 40 });
});

testEachJournal(
  "changes are seen by themselves within a second, and no more after stopping",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10);
    const seen: number[] = [];
    const revision = await bench.operator.currentRevision();
    const watch = (amounts: number[]) =>
      new StoreWatcher({
        store: bench.operator,
        revision,
        apply: ({ entries }) => amounts.push(...entries.map(({ amount }) => amount)),
        onError: () => {},
        everyMs: 5,
      });
    const watcher = watch(seen);
    watcher.start();
    const topUp = { keyId: key.id, amountNano: 3, reference: null, note: null, atMs: 0 };
    await bench.operator.recordTopUp(topUp);
    await waitFor(() => seen.length > 0, "the top-up to be seen");
    await watcher.stop();
    const later: number[] = [];
    const other = watch(later);
    other.start();
    await bench.operator.recordTopUp(topUp);
    await waitFor(() => later.filter((amount) => amount === 3).length === 2, "another watcher to see both");
    await other.stop();
    expect(seen).toEqual([3]);
  },
);

testEachJournal("a look that fails is reported, and the next one brings what it missed", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 10);
  const errors: unknown[] = [];
  const seen: number[] = [];
  let fails = true;
  const flaky = new Proxy(bench.operator, {
    get(store, name) {
      if (name === "currentRevision" && fails) return () => Promise.reject(new Error("locked"));
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
  const watcher = new StoreWatcher({
    store: flaky,
    revision: await bench.operator.currentRevision(),
    apply: ({ entries }) => seen.push(...entries.map(({ amount }) => amount)),
    onError: (error) => errors.push(error),
    everyMs: 5,
  });
  await bench.operator.recordTopUp({ keyId: key.id, amountNano: 4, reference: null, note: null, atMs: 0 });
  watcher.start();
  await waitFor(() => errors.length > 0, "a look to fail");
  fails = false;
  await watcher.refresh();
  await watcher.stop();
  expect(errors.length).toBeGreaterThan(0);
  expect(seen).toEqual([4]);
});
