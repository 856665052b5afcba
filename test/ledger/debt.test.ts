import { describe, expect, test } from "bun:test";
import { statementOf } from "../../src/admin/accounts/statement.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import { keyRecord } from "../store/fixtures.ts";
import { type AccountsBench, addAccount, addKeys, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

const millionCredits = 1_000_000 * 1_000_000_000;

async function openPostpaid(bench: AccountsBench) {
  const account = await addAccount(bench, { isPostpaid: true });
  const [key = keyRecord()] = await addKeys(bench, account, 1, { isPostpaid: true });
  await bench.refresh();
  const spend = async (amount: number, cost = amount) => {
    const hold = await tryHold(bench.gateways[0], key, amount);
    if (!(hold instanceof Hold)) return hold;
    const atMs = bench.clock.wallMs();
    return bench.gateways[0]?.settle(hold, settlement(hold, cost, {}, { atMs }));
  };
  return { account, spend };
}

for (const [where, open] of accountsKinds) {
  describe(`a postpaid account ${where}`, () => {
    test("owes at most four million credits: what would exceed that is rejected, and no entry is invented", async () => {
      await using bench = await open(1);
      const { account, spend } = await openPostpaid(bench);
      expect(await spend(3 * millionCredits)).toEqual({ charged: 3 * millionCredits, overrun: 0 });
      const refusal = await spend(millionCredits + 1);
      if (!(refusal instanceof GatewayError)) throw new Error("admitted");
      expect({ code: refusal.code, message: refusal.message }).toEqual({
        code: "insufficient_credit",
        message:
          "This request could cost up to 1000000.000000001 credits, but this account owes 3000000 of at most 4000000 credits. " +
          "Ask the operator to record a payment.",
      });
      expect(await spend(millionCredits, millionCredits + 7)).toEqual({
        charged: millionCredits,
        overrun: 7,
      });
      expect(await spend(1)).toBeInstanceOf(GatewayError);
      const kinds = (await bench.store.listEntries({ afterId: 0, limit: 100 })).map(({ kind }) => kind);
      expect(kinds).toEqual(["charge", "charge", "overrun"]);
      expect((await bench.store.readAccounts([account.id]))[0]?.totals.posted).toBe(-4 * millionCredits);
      expect((await audit(bench.store)).differences).toEqual([]);
      const entry = { keyId: null, accountId: account.id, reference: null, note: "too much", atMs: 0 };
      await expect(bench.store.recordAdjustment({ ...entry, amountNano: -1 })).rejects.toThrow(
        "An account can owe at most 4000000 credits.",
      );
    }, 30_000);

    test("has a statement of a month in which more was charged than a double counts", async () => {
      await using bench = await open(1);
      const { account, spend } = await openPostpaid(bench);
      const entry = { keyId: null, accountId: account.id, reference: null, note: null };
      for (let payment = 0; payment < 3; payment += 1) {
        await spend(4 * millionCredits - 1);
        const atMs = bench.clock.wallMs();
        await bench.store.recordTopUp({ ...entry, amountNano: 4 * millionCredits - 1, atMs });
        await bench.refresh();
      }
      const context = { store: bench.store, clock: bench.clock };
      const { accounts } = await statementOf(context, { month: "2026-11" });
      const nearly12Million = Number("11999999.999999997");
      expect(accounts).toMatchObject([
        { charged: -nearly12Million, topped_up: nearly12Million, total: 0, owed: 0 },
      ]);
    }, 30_000);
  });
}
