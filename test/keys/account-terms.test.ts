import { describe, expect } from "bun:test";
import { createAccount } from "../../src/admin/accounts/accounts.ts";
import { issueKey } from "../../src/keys/issue.ts";
import { KeyRing } from "../../src/keys/keyring.ts";
import { testEachStore } from "../store/each-store.ts";
import { FakeClock } from "../support/clock.ts";

describe("the key ring", () => {
  testEachStore("shows every key of an account that was changed with the new terms", async (database) => {
    const clock = new FakeClock();
    const operator = await database.openGateway(clock);
    const budget = { mode: "token_budget", budgetTokens: 100, period: "day" } as const;
    const { account } = await createAccount({ store: operator, clock }, budget);
    const issue = () => issueKey(operator, clock, { ...budget, accountId: account.id });
    const issued = [await issue(), await issue()];
    const other = await issueKey(operator, clock, { mode: "token_budget", budgetTokens: 5, period: "day" });
    const { revision, keys } = await operator.load();
    const ring = new KeyRing(clock, keys);
    const hashes = () => issued.map(({ secret }) => ring.find(secret)?.hash);
    const before = hashes();

    const terms = { budgetTokens: 7, period: "month", content: "all" } as const;
    await operator.updateAccount(account.id, terms);
    const changes = await operator.changesSince(revision);
    // However many keys it has, it is one change.
    expect(changes.keys).toEqual([]);
    ring.apply(changes);
    const { content: accountContent, ...shown } = terms;
    for (const { key, secret } of issued) {
      expect(ring.find(secret)).toMatchObject({ ...shown, accountContent, isClosed: false });
      expect(ring.byId(key.id)).toEqual(await operator.findKey(key.id));
    }
    await operator.updateAccount(account.id, { closedAtMs: clock.wallMs() });
    ring.apply(await operator.changesSince(changes.revision));
    expect([...ring.all()].map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
    expect(hashes()).toEqual(before);
    expect(ring.find(other.secret)?.budgetTokens).toBe(5);
    expect(ring.size).toBe(3);
    await operator.close();
  });

  testEachStore("shows a key that has moved with the terms of the account it moved to", async (database) => {
    const clock = new FakeClock();
    const operator = await database.openGateway(clock);
    const create = () => createAccount({ store: operator, clock }, { mode: "credit" });
    const [{ account: from }, { account: to }] = [await create(), await create()];
    const { key, secret } = await issueKey(operator, clock, { mode: "credit", accountId: from.id });
    const { revision, keys } = await operator.load();
    const ring = new KeyRing(clock, keys);
    await operator.updateAccount(to.id, { isPostpaid: true });
    await operator.updateAccount(from.id, { closedAtMs: clock.wallMs() });
    await operator.moveKey(key.id, to.id, clock.wallMs());
    ring.apply(await operator.changesSince(revision));
    expect(ring.find(secret)).toMatchObject({ accountId: to.id, isPostpaid: true, isClosed: false });
    expect(ring.find(secret)).toEqual(await operator.findKey(key.id));
    await operator.close();
  });
});
