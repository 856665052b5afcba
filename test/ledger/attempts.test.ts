import { describe, expect } from "bun:test";
import { utcDay } from "../../src/base/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { attempt, served, times } from "../store/attempts.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { costing, resoldRates } from "../support/rates.ts";
import { holdFor, openBench, settlement, startProcess } from "./fixtures.ts";

async function attemptsIn(store: Store, nowMs: number) {
  const sums = (await Array.fromAsync(store.reports.attemptPages("openai", 0, utcDay(nowMs) + 1))).flat();
  return sums.map(({ day, ...count }) => count);
}

describe("attempts", () => {
  testEachJournal("are counted with the charge that pays for them, day by day", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 1_000);
    const holds = [1, 2, 3].map(() => holdFor(bench.ledger, key, 50));
    const lost = attempt({ outcome: "uncharged", upstreamModel: "other", owedNanoUsd: 0 });
    await Promise.all(
      holds.map((hold) => bench.ledger.settle(hold, settlement(hold, 20, { attempts: [lost, attempt()] }))),
    );
    bench.clock.advance(86_400_000);
    const tomorrow = holdFor(bench.ledger, key, 50);
    await bench.ledger.settle(tomorrow, settlement(tomorrow, 20, { attempts: [attempt()] }));
    // A hold ends once.
    await bench.ledger.settle(tomorrow, settlement(tomorrow, 20, { attempts: [attempt()] }));
    const counted = await attemptsIn(bench.operator, bench.clock.wallMs());
    expect(counted).toEqual([times(3, attempt()), times(3, lost), attempt()]);
  });

  testEachJournal("of a process that ended are counted once, by what was charged", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 1_000);
    const [done, open] = [holdFor(bench.ledger, key, 50), holdFor(bench.ledger, key, 50)];
    await bench.ledger.settle(done, settlement(done, 20, { attempts: [attempt()] }));
    const quantities = { input: 7, "claude-5/cached_input": 2, output: 12, web_search: 1 };
    bench.ledger.progress(open, { ...costing(12), rates: resoldRates, quantities, served });
    bench.ledger.journalProgress();
    await bench.store.commit([]);
    await (await startProcess(database, bench.clock)).store.close();
    await (await startProcess(database, bench.clock)).store.close();
    const interrupted = { ...times(0, attempt()), outcome: "interrupted", attempts: 1, estimated: 1 };
    expect(await attemptsIn(bench.operator, bench.clock.wallMs())).toEqual([
      attempt(),
      { ...interrupted, countedInputTokens: 9, countedOutputTokens: 12, owedNanoUsd: 12 },
    ] as unknown as ReturnType<typeof attempt>[]);
  });
});
