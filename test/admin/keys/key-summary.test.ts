import { expect } from "bun:test";
import type { BudgetPeriod } from "../../../src/store/store.ts";
import { testEachStore } from "../../store/each-store.ts";
import { keyRecord, settleItem } from "../../store/fixtures.ts";
import { FakeClock } from "../../support/clock.ts";
import { storedKeyView } from "./stored-view.ts";

testEachStore("what a budget has used counts on when its period is made longer", async (database) => {
  const clock = new FakeClock();
  const store = await database.openGateway(clock);
  try {
    const key = keyRecord({ mode: "token_budget", budgetTokens: 400, period: "day" });
    await store.insertKey(key, 0);
    const nowMs = clock.wallMs();
    const periodStartMs = nowMs - (nowMs % 86_400_000);
    await store.charge([settleItem(key.id, 90, { atMs: nowMs, periodStartMs })]);
    const used = async (period: BudgetPeriod) =>
      (await storedKeyView({ store, clock }, await store.updateKey(key.id, { period }))).budget?.used;
    for (const period of ["day", "week", "month", "none"] as const) expect(await used(period)).toBe(90);
  } finally {
    await store.close();
  }
});
