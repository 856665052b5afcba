import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import type { Hold } from "../../src/ledger/accounts.ts";
import { SharedAccounts, type SharedAccountsOptions } from "../../src/ledger/shared-accounts.ts";
import { type HoldVerdict, NodeUnavailable } from "../../src/store/node.ts";
import { emptyAccount, emptyKey, type TurnRecord } from "../../src/store/store.ts";
import { keyRecord, outcomeRecordOf } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { costing } from "../support/rates.ts";
import { settlement } from "./fixtures.ts";

const held: HoldVerdict = {
  decision: "held",
  remaining: 900,
  periodStartMs: 0,
  countedAtMs: 0,
  accountNo: 1,
  openedAtMs: 0,
};
const usedUp = {
  decision: "used_up",
  state: {
    bound: "budget",
    period: "day",
    models: null,
    limit: 10,
    used: 10,
    held: 0,
    left: 0,
    resetsAtMs: 86_400_000,
  },
} as const satisfies HoldVerdict;

/** Accounts over a node with scripted answers. */
function accountsOver(
  node: Partial<SharedAccountsOptions["node"]> = {},
  more: Pick<SharedAccountsOptions, "written"> = {},
) {
  const credit = keyRecord({ mode: "credit" });
  const budget = keyRecord({ mode: "token_budget", budgetTokens: 1_000, period: "day" });
  const calls: string[] = [];
  const accounts = new SharedAccounts({
    clock: new FakeClock(),
    keys: [credit, budget],
    valueCaps: [],
    ...more,
    node: {
      problem: null,
      clockOffsetMs: 0,
      hold: async () => held,
      progress: (id, soFar) => void calls.push(`progress ${id} ${soFar.cost}`),
      settle: async ({ cost }) => ({ charged: cost, overrun: 0 }),
      release: async (id) => void calls.push(`release ${id}`),
      readAccounts: async (ids) =>
        ids.map((id) => ({
          terms: { mode: "credit", isPostpaid: false, budgetTokens: null, period: "none" },
          totals: { ...emptyAccount(id), ...emptyKey(id), posted: 700, purchased: 700 },
          held: 60,
          keyCaps: [],
          accountCaps: [],
        })),
      ...node,
    },
  });
  const hold = (keyId = credit.id, amount = 100) =>
    accounts.hold({
      keyId,
      exchangeId: newId("req_"),
      model: "house-model",
      requestedModel: null,
      labels: null,
      amount,
    });
  return { accounts, hold, credit, budget, calls };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof GatewayError ? error.code : String(error);
}

/** A hold, and what happens to it in order while something that its answer rests on is still being written. */
async function heldWhileWriting() {
  const steps: string[] = [];
  const writing = Promise.withResolvers<void>();
  const settle = async () => {
    steps.push("charged");
    return { charged: 1, overrun: 0 };
  };
  const { accounts, hold } = accountsOver({ settle }, { written: () => writing.promise });
  const finishWriting = async () => {
    await Promise.resolve();
    steps.push("written");
    writing.resolve();
  };
  return { steps, accounts, given: await hold(), finishWriting };
}

describe("shared accounts", () => {
  test.each([
    ["too_little", "insufficient_credit"],
    ["reserved", "balance_temporarily_reserved"],
    ["disabled", "key_disabled"],
    ["expired", "key_expired"],
    ["suspended", "invalid_credentials"],
    ["revoked", "invalid_credentials"],
    ["unknown_key", "invalid_credentials"],
  ] as const)("refuse a hold that the database decides is %s", async (decision, code) => {
    const verdict =
      decision === "too_little" || decision === "reserved" ? { ...usedUp, decision } : { decision };
    const { accounts, hold } = accountsOver({ hold: async () => verdict });
    expect(await codeOf(hold())).toBe(code);
    expect(accounts.openHolds).toBe(0);
    expect(accounts.held()).toEqual({ nano: 0, tokens: 0 });
  });

  test("say when a used-up budget is fresh again, or that it never is", async () => {
    const daily = accountsOver({ hold: async () => usedUp });
    expect(await codeOf(daily.hold(daily.budget.id))).toBe("limit_reached");
    const forEver: HoldVerdict = { ...usedUp, state: { ...usedUp.state, period: null, resetsAtMs: null } };
    const once = accountsOver({ hold: async () => forEver });
    expect(await codeOf(once.hold(once.budget.id))).toBe("insufficient_credit");
  });

  test("give no hold while the database is in problem, or does not answer", async () => {
    const asked: unknown[] = [];
    const troubled = accountsOver({
      problem: { reason: "The database cannot be reached.", advice: "" },
      hold: async (order) => {
        asked.push(order);
        return held;
      },
    });
    expect(await codeOf(troubled.hold())).toBe("service_unavailable");
    expect(asked).toEqual([]);
    const silent = accountsOver({ hold: () => Promise.reject(new NodeUnavailable()) });
    expect(await codeOf(silent.hold())).toBe("service_unavailable");
  });

  test("end a hold once, with what the database has charged", async () => {
    const { accounts, hold, calls } = accountsOver({ settle: async () => ({ charged: 40, overrun: 20 }) });
    const first = await hold();
    expect(accounts.held()).toEqual({ nano: 100, tokens: 0 });
    expect(accounts.remaining(first)).toBe(900);
    const record = settlement(first, 60);
    expect(await accounts.settle(first, record)).toEqual({ charged: 40, overrun: 20 });
    expect(first.charged).toBe(40);
    expect(record.record?.costNano).toBe(40);
    expect(accounts.remaining(first)).toBe(960);
    expect(await accounts.settle(first, settlement(first, 60))).toBeNull();
    expect(accounts.release(first)).toBe(false);
    const second = await hold();
    expect(accounts.release(second)).toBe(true);
    expect(accounts.release(second)).toBe(false);
    expect(calls).toEqual([`release ${second.id}`]);
    expect(accounts.openHolds).toBe(0);
    expect(accounts.held()).toEqual({ nano: 0, tokens: 0 });
  });

  test("settle no sooner than what the answer rests on is written", async () => {
    const { steps, accounts, given, finishWriting } = await heldWhileWriting();
    const settled = accounts.settle(given, settlement(given, 1)).then(() => steps.push("settled"));
    await finishWriting();
    await settled;
    expect(steps).toEqual(["charged", "written", "settled"]);
  });

  test("replace a conversation only by a turn whose parts are all written", async () => {
    const { steps, accounts, given, finishWriting } = await heldWhileWriting();
    const turn: TurnRecord = {
      ...{ keyId: given.keyId, id: "conv_1", parentId: null, model: "m", provider: "p", createdAtMs: 0 },
      ...{ expiresAtMs: 1, bytes: 1, items: [], body: new Uint8Array(1), keyBytes: 1, replaces: 1 },
      recording: { id: "rec_1", parts: 2 },
    };
    const settled = accounts.settle(given, settlement(given, 1, { turns: [turn] }));
    await finishWriting();
    await settled;
    expect(steps).toEqual(["written", "charged"]);
  });

  test("hand over how an exchange ended, by the clock of its charge, or that it ended well", async () => {
    const endings: unknown[] = [];
    const { accounts, hold } = accountsOver({
      settle: async ({ outcomeRecord, atMs }) => {
        endings.push(outcomeRecord === null ? null : outcomeRecord.atMs === atMs);
        return { charged: 1, overrun: 0 };
      },
    });
    const [well, badly] = [await hold(), await hold()];
    await accounts.settle(well, settlement(well, 1));
    await accounts.settle(badly, settlement(badly, 1, { outcomeRecord: outcomeRecordOf(badly.keyId) }));
    expect(endings).toEqual([null, true]);
  });

  test("charge token budgets in tokens, which cost nothing", async () => {
    const { accounts, hold, budget } = accountsOver();
    const given = await hold(budget.id, 50);
    expect(accounts.held()).toEqual({ nano: 0, tokens: 50 });
    const settled = settlement(given, 30);
    await accounts.settle(given, settled);
    expect(settled.record?.costNano).toBe(0);
  });

  test("say that a charge is not acknowledged in time, and do not end the hold twice", async () => {
    const { accounts, hold, calls } = accountsOver({ settle: () => Promise.reject(new NodeUnavailable()) });
    const given = await hold();
    expect(await codeOf(accounts.settle(given, settlement(given, 60)))).toBe("service_unavailable");
    expect(accounts.release(given)).toBe(false);
    expect(calls).toEqual([]);
  });

  test("refuse an impossible cost while the hold can still be released", async () => {
    const { accounts, hold } = accountsOver();
    const given: Hold = await hold();
    await expect(accounts.settle(given, settlement(given, -1))).rejects.toThrow("cost");
    expect(accounts.release(given)).toBe(true);
  });

  test("journal progress now and then, and none of a hold that has ended", async () => {
    const { accounts, hold, calls } = accountsOver();
    const [first, second] = [await hold(), await hold()];
    accounts.progress(first, costing(10));
    accounts.progress(first, costing(20));
    accounts.progress(second, costing(30));
    accounts.release(second);
    accounts.journalProgress();
    expect(calls).toEqual([`release ${second.id}`, `progress ${first.id} 20`]);
  });

  test("summarize accounts as the database has them", async () => {
    const { accounts, credit } = accountsOver();
    const [summary] = await accounts.summaries([credit.id]);
    expect(summary).toMatchObject({ posted: 700, held: 60, available: 640, purchased: 700 });
  });

  test("a charge is not known to be durable before what was written ahead of its answer is", async () => {
    const parts = Promise.withResolvers<void>();
    const { accounts, credit } = accountsOver({}, { written: () => parts.promise });
    const hold = await accounts.hold({
      keyId: credit.id,
      exchangeId: newId("req_"),
      model: "house-model",
      requestedModel: null,
      labels: null,
      amount: 50,
    });
    let isSettled = false;
    const settling = accounts.settle(hold, settlement(hold, 20)).then(() => {
      isSettled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSettled).toBe(false);
    parts.resolve();
    await settling;
    expect(isSettled).toBe(true);
  });
});
