import { expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { nextPeriodStart } from "../../src/base/money/period.ts";
import { Hold } from "../../src/ledger/hold.ts";
import { keyRecord } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { addAccount, addKeys, cap, tryHold } from "./accounts-bench.ts";
import { openByClock } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  for (const days of [40, -40]) {
    test(`PostgreSQL's clock decides about periods and expiry, though the node's is off by ${days} days`, async () => {
      const realMs = Date.now();
      const clock = new FakeClock(new Date(realMs + days * msPerDay).toISOString());
      await using bench = await openByClock(1, clock, false);
      const account = await addAccount(bench, { mode: "token_budget", budgetTokens: 1_000, period: "day" });
      const [key = keyRecord(), expiring = keyRecord(), expired = keyRecord()] = [
        ...(await addKeys(bench, account, 1, { caps: [cap(300, "month")] })),
        ...(await addKeys(bench, account, 1, { expiresAtMs: realMs + msPerDay })),
        ...(await addKeys(bench, account, 1, { expiresAtMs: realMs - msPerDay })),
      ];
      await bench.refresh();
      const [gateway] = bench.gateways;
      const hold = await tryHold(gateway, key, 50);
      if (!(hold instanceof Hold)) throw hold;
      for (const momentMs of [hold.openedAtMs, hold.countedAtMs]) {
        expect(Math.abs(momentMs - realMs)).toBeLessThan(msPerDay / 2);
      }
      await gateway?.settle(hold, settlement(hold, 50));
      const [{ caps = [], totals } = {}] = await bench.store.readAccounts([account.id]);
      const now = [realMs, Date.now()];
      expect(now.map((atMs) => nextPeriodStart("day", atMs))).toContain(
        (totals?.periodStartMs ?? 0) + msPerDay,
      );
      expect(now.map((atMs) => nextPeriodStart("month", atMs))).toContain(
        nextPeriodStart("month", caps[0]?.periodStartMs ?? 0),
      );
      expect(await tryHold(gateway, expiring, 1)).toBeInstanceOf(Hold);
      expect(await tryHold(gateway, expired, 1)).toMatchObject({ code: "key_expired" });
    }, 60_000);
  }
