import { describe, expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import type { BudgetPeriod } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { addAccount, addKeys, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

const changes: readonly (readonly BudgetPeriod[])[] = [
  ["day", "month"],
  ["week", "month"],
  ["day", "none"],
  ["day", "none", "week"],
  ["month", "day"],
];

for (const [where, open] of accountsKinds) {
  describe(`an audit ${where}`, () => {
    for (const periods of changes) {
      test(`agrees with a budget that was changed from ${periods.join(" to ")}`, async () => {
        await using bench = await open(1);
        const account = await addAccount(bench, {
          mode: "token_budget",
          budgetTokens: 9_000,
          period: periods[0] ?? "day",
        });
        const [key = keyRecord()] = await addKeys(bench, account, 1);
        for (const period of periods) {
          await bench.store.updateAccount(account.id, { period });
          await bench.refresh();
          for (let charge = 0; charge < 4; charge += 1) {
            const hold = await tryHold(bench.gateways[0], key, 50);
            if (!(hold instanceof Hold)) throw hold;
            await bench.gateways[0]?.settle(hold, settlement(hold, 20, {}, { atMs: bench.clock.wallMs() }));
            expect((await audit(bench.store)).differences).toEqual([]);
            bench.clock.advance(13 * msPerDay);
          }
        }
      });
    }
  });
}
