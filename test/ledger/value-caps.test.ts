import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import { RequestLogRetention } from "../../src/store/request-log-retention.ts";
import type { KeyRecord, NewValueCap } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { type AccountsBench, addAccount, addKeys, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

const racers = 1_000;
const people = 50;
const day = Date.UTC(2026, 10, 16);

function newCap(more: Partial<NewValueCap> = {}): NewValueCap {
  return {
    id: newId("cap_"),
    keyId: null,
    accountId: null,
    mode: "credit",
    label: "owner",
    value: null,
    limit: 100,
    period: "day",
    models: null,
    isOptional: false,
    maxValues: 10_000,
    thenModel: null,
    thenAlways: false,
    ...more,
  };
}

async function addCap({ store, clock, refresh }: AccountsBench, more: Partial<NewValueCap> = {}) {
  const cap = await store.insertValueCap(newCap(more), clock.wallMs());
  await refresh();
  return cap;
}

const labelsOf = (labels: Readonly<Record<string, string>>) => JSON.stringify({ owner: "", ...labels });

function hold(
  { gateways }: AccountsBench,
  key: KeyRecord | undefined,
  amount: number,
  labels: Readonly<Record<string, string>>,
  n = 0,
) {
  const gateway = gateways[n % gateways.length];
  return tryHold(gateway, key ?? keyRecord(), amount, "house-model", labelsOf(labels));
}

async function spend(
  bench: AccountsBench,
  key: KeyRecord | undefined,
  cost: number,
  labels: Readonly<Record<string, string>>,
) {
  const held = await hold(bench, key, cost, labels);
  if (!(held instanceof Hold)) throw held;
  await bench.gateways[0]?.settle(held, settlement(held, cost));
}

function refusal(answer: Hold | GatewayError) {
  if (!(answer instanceof GatewayError)) throw new Error("not refused");
  return { code: answer.code, message: answer.message, details: answer.vendor?.details };
}

async function usedOf({ store }: AccountsBench, no: number) {
  const totals = await store.valueTotals(no);
  return Object.fromEntries(totals.filter(({ used }) => used > 0).map(({ value, used }) => [value, used]));
}

/** As a gateway does every minute. */
async function prune({ store, clock }: AccountsBench) {
  const limits = () => ({ requestsMs: 30 * msPerDay, requestRows: 1_000 });
  const onError = (error: unknown) => {
    throw error;
  };
  await new RequestLogRetention({ store, clock, limits, onError }).prune();
}

setDefaultTimeout(60_000);

describe.each(accountsKinds)("caps by value, %s", (_, open) => {
  async function bench(accounts = 1, keysEach = 1, gateways = 1) {
    const opened = await open(gateways);
    const keys: KeyRecord[] = [];
    for (let n = 0; n < accounts; n += 1)
      keys.push(...(await addKeys(opened, await addAccount(opened, {}, 1_000_000), keysEach)));
    await opened.refresh();
    return { opened, keys };
  }

  test("1,000 racers of 50 people over 40 keys and 12 accounts, with three caps binding each: exact", async () => {
    const { opened, keys } = await bench(10, 4, 4);
    await using _ = opened;
    const more = [await addAccount(opened, {}, 1_000_000), await addAccount(opened, {}, 1_000_000)];
    expect(more).toHaveLength(2);
    const caps = [
      await addCap(opened, { limit: 100 }),
      await addCap(opened, { label: "user", isOptional: true, limit: 30 }),
      await addCap(opened, { label: "tag:project", value: "atlas", limit: 1_500, period: "month" }),
    ];
    const tried = await Promise.all(
      Array.from({ length: racers }, async (__, n) => {
        const owner = `p${n % people}@example.com`;
        const labels = { owner, user: `u${n % 200}`, "tag:project": "atlas" };
        return { held: await hold(opened, keys[n % keys.length], 10, labels, n), n };
      }),
    );
    const admitted = tried.filter(({ held }) => held instanceof Hold);
    // Each person may hold 10, each end user 3, all together 150.
    expect(admitted).toHaveLength(150);
    for (const { held, n } of admitted)
      if (held instanceof Hold)
        await opened.gateways[n % opened.gateways.length]?.settle(held, settlement(held, 10));
    expect(await usedOf(opened, caps[2]?.no ?? 0)).toEqual({ atlas: 1_500 });
    const sum = (used: Record<string, number>) => Object.values(used).reduce((one, other) => one + other, 0);
    const [byOwner, byUser] = [
      await usedOf(opened, caps[0]?.no ?? 0),
      await usedOf(opened, caps[1]?.no ?? 0),
    ];
    expect([sum(byOwner), sum(byUser)]).toEqual([1_500, 1_500]);
    expect(Math.max(...Object.values(byOwner))).toBeLessThanOrEqual(100);
    expect(Math.max(...Object.values(byUser))).toBeLessThanOrEqual(30);
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a refusal by a tag's cap says which tag", async () => {
    const { opened, keys } = await bench(1, 1);
    await using _ = opened;
    await addCap(opened, { label: "tag:project", value: "atlas", limit: 5 });
    const denied = refusal(await hold(opened, keys[0], 10, { "tag:project": "atlas" }));
    expect(denied.message).toContain("of the tag project=atlas's ");
  });

  test("every owner has a limit of their own, over all keys and accounts", async () => {
    const { opened, keys } = await bench(2, 2);
    await using _ = opened;
    await addCap(opened);
    await spend(opened, keys[0], 60, { owner: "ada" });
    await spend(opened, keys[3], 40, { owner: "ada" });
    await spend(opened, keys[3], 100, { owner: "ben" });
    const denied = refusal(await hold(opened, keys[1], 1, { owner: "ada" }));
    expect(denied.code).toBe("limit_reached");
    expect(denied.message).toStartWith("This key's owner has reached its cap of");
    expect(denied.details).toEqual({
      bound: "owner_cap",
      period: "day",
      limit: 1e-7,
      used: 1e-7,
      resets_at: "2026-11-17T00:00:00Z",
      value: "ada",
    });
    // A key without an owner falls under no cap by owner.
    await spend(opened, keys[1], 500, {});
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a cap for one value replaces the one for each, and only for that value", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const each = await addCap(opened);
    await spend(opened, keys[0], 100, { owner: "ada" });
    const one = await addCap(opened, { value: "ada", limit: 150 });
    await spend(opened, keys[0], 50, { owner: "ada" });
    expect(refusal(await hold(opened, keys[0], 1, { owner: "ada" })).details).toMatchObject({ used: 1.5e-7 });
    await spend(opened, keys[0], 100, { owner: "ben" });
    expect(refusal(await hold(opened, keys[0], 1, { owner: "ben" })).code).toBe("limit_reached");
    await opened.store.removeValueCap(one.id);
    await opened.refresh();
    expect(refusal(await hold(opened, keys[0], 1, { owner: "ada" })).code).toBe("limit_reached");
    expect(await usedOf(opened, each.no)).toEqual({ ada: 150, ben: 100 });
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a cap that is added in mid-period equals one that was there from the start, open holds included", async () => {
    const { opened, keys } = await bench(2, 2);
    await using _ = opened;
    const first = await addCap(opened, { label: "user", isOptional: true, limit: 1_000 });
    for (let n = 0; n < 12; n += 1)
      await spend(opened, keys[n % 4], n + 1, n % 4 === 3 ? {} : { user: `u${n % 4}` });
    const open = await hold(opened, keys[0], 70, { user: "u0" });
    const second = await addCap(opened, { label: "user", isOptional: true, limit: 100, models: "*" });
    expect(await usedOf(opened, second.no)).toEqual(await usedOf(opened, first.no));
    expect(await usedOf(opened, second.no)).toEqual({ "": 24, u0: 15, u1: 18, u2: 21 });
    expect(refusal(await hold(opened, keys[1], 16, { user: "u0" })).code).toBe(
      "balance_temporarily_reserved",
    );
    if (open instanceof Hold) opened.gateways[0]?.release(open);
    expect(refusal(await hold(opened, keys[1], 77, {})).details).toMatchObject({
      bound: "user_cap",
      value: null,
    });
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a label that a cap counts is required, unless it is optional or the request is the gateway's own", async () => {
    const { opened, keys } = await bench(2);
    await using _ = opened;
    await addCap(opened, { label: "tag:project", keyId: keys[0]?.id ?? null });
    const denied = refusal(await hold(opened, keys[0], 1, {}));
    expect(denied.code).toBe("invalid_request");
    expect(denied.message).toContain("`project`");
    expect(await hold(opened, keys[1], 1, {})).toBeInstanceOf(Hold);
    expect(await hold(opened, keys[0], 1, { "tag:project": "atlas" })).toBeInstanceOf(Hold);
    expect(await tryHold(opened.gateways[0], keys[0] ?? keyRecord(), 1)).toBeInstanceOf(Hold);
  });

  test("another model for an open hold needs the labels of the account that pays, wherever its key has moved", async () => {
    const { opened } = await bench(0);
    await using _ = opened;
    const [from, to] = [await addAccount(opened, {}, 1_000), await addAccount(opened, {}, 1_000)];
    const [key = keyRecord()] = await addKeys(opened, from, 1);
    await addCap(opened, { label: "tag:project", accountId: from.id, models: "costly" });
    await addCap(opened, { label: "tag:team", accountId: to.id });
    const held = await hold(opened, key, 5, {});
    if (!(held instanceof Hold)) throw held;
    await opened.store.moveKey(key.id, to.id, opened.clock.wallMs());
    await opened.refresh();
    const replace = async (model: string) => {
      const by = { model, requestedModel: null, labels: labelsOf({}), amount: 5 };
      await opened.gateways[0]?.replace(held, by);
    };
    await expect(replace("costly")).rejects.toThrow("`project`");
    await replace("cheap");
    expect(held.model).toBe("cheap");
    expect(refusal(await hold(opened, key, 5, {})).message).toContain("`team`");
    await opened.gateways[0]?.settle(held, settlement(held, 5));
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("as many values count as were allowed, and the next new one is refused until the period ends", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const cap = await addCap(opened, { label: "user", keyId: keys[0]?.id ?? null, maxValues: 3 });
    const released = await hold(opened, keys[0], 5, { user: "u0" });
    for (const user of ["u1", "u2"]) await spend(opened, keys[0], 5, { user });
    const denied = refusal(await hold(opened, keys[0], 5, { user: "u3" }));
    expect(denied.code).toBe("limit_reached");
    expect(denied.message).toMatch(
      /^A cap counts at most 3 end users per day, and this one is not among them\. .*--values/,
    );
    // One that spends nothing takes no place.
    if (released instanceof Hold) opened.gateways[0]?.release(released);
    await spend(opened, keys[0], 5, { user: "u3" });
    expect(refusal(await hold(opened, keys[0], 5, { user: "u0" })).code).toBe("limit_reached");
    await spend(opened, keys[0], 5, { user: "u1" });
    opened.clock.advance(24 * 3_600_000);
    for (const user of ["u4", "u5", "u6"]) await spend(opened, keys[0], 5, { user });
    expect(refusal(await hold(opened, keys[0], 5, { user: "u1" })).code).toBe("limit_reached");
    expect(await usedOf(opened, cap.no)).toMatchObject({ u4: 5, u5: 5, u6: 5 });
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("retention deletes values of ended periods, not what is open, raised or the latest", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const { id, no } = await addCap(opened);
    const idle = await addCap(opened, { label: "user", value: "u1" });
    await spend(opened, keys[0], 5, { user: "u1" });
    const owners = Array.from({ length: 250 }, (__, n) => `p${n}`);
    await Promise.all(owners.map((owner) => spend(opened, keys[0], 5, { owner })));
    // An open request of the first day, one that is raised on the third, and one that was raised on the first.
    const late = await hold(opened, keys[0], 7, { owner: "p0" });
    await opened.store.raiseValueCap(id, 50, "p2", opened.clock.wallMs());
    opened.clock.advance(msPerDay);
    await opened.store.raiseValueCap(id, 50, "p3", opened.clock.wallMs());
    const allValues = async () => (await opened.store.valueTotals(no)).map(({ value }) => value);
    await spend(opened, keys[0], 6, { owner: "p1" });
    // The first day's requests can still end.
    await prune(opened);
    expect((await allValues()).length).toBe(250);
    if (late instanceof Hold) await opened.gateways[0]?.settle(late, settlement(late, 7));
    expect((await audit(opened.store)).differences).toEqual([]);
    opened.clock.advance(msPerDay);
    await opened.store.raiseValueCap(id, 50, "p4", opened.clock.wallMs());
    await prune(opened);
    expect((await allValues()).toSorted()).toEqual(["p1", "p3", "p4"]);
    expect(await usedOf(opened, idle.no)).toEqual({ u1: 5 });
    await spend(opened, keys[0], 4, { owner: "p1" });
    opened.clock.advance(msPerDay);
    await prune(opened);
    expect((await allValues()).toSorted()).toEqual(["p1", "p4"]);
    await opened.refresh();
    await spend(opened, keys[0], 100, { owner: "p0" });
    expect(refusal(await hold(opened, keys[0], 1, { owner: "p0" })).code).toBe("limit_reached");
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a cap is raised for one value or for all, in this period alone", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const { id } = await addCap(opened);
    await opened.store.raiseValueCap(id, 50, "ada", opened.clock.wallMs());
    await opened.store.raiseValueCap(id, 10, null, opened.clock.wallMs());
    await opened.refresh();
    await spend(opened, keys[0], 160, { owner: "ada" });
    await spend(opened, keys[0], 110, { owner: "ben" });
    for (const owner of ["ada", "ben"])
      expect(refusal(await hold(opened, keys[0], 1, { owner })).code).toBe("limit_reached");
    opened.clock.advance(24 * 3_600_000);
    expect(refusal(await hold(opened, keys[0], 101, { owner: "ada" })).code).toBe("insufficient_credit");
    await spend(opened, keys[0], 100, { owner: "ada" });
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("token accounts fall under no cap in credits, and the other way round", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const budget = await addAccount(opened, { mode: "token_budget", budgetTokens: 10_000, period: "day" });
    const [tokens] = await addKeys(opened, budget, 1);
    await opened.refresh();
    await addCap(opened, { mode: "token_budget", limit: 50 });
    await spend(opened, keys[0], 500, { owner: "ada" });
    await spend(opened, tokens, 50, { owner: "ada" });
    expect(refusal(await hold(opened, tokens, 1, { owner: "ada" })).code).toBe("limit_reached");
  });

  test("a cost above the hold is cut to what the caps still cover; a postpaid account owes it", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const open = await addAccount(opened, { isPostpaid: true }, 0);
    const [postpaid] = await addKeys(opened, open, 1);
    await opened.refresh();
    const { no } = await addCap(opened);
    const settle = async (key: KeyRecord | undefined, owner: string) => {
      const held = await hold(opened, key, 10, { owner });
      if (!(held instanceof Hold)) throw held;
      await opened.gateways[0]?.settle(held, settlement(held, 130));
    };
    await spend(opened, keys[0], 30, { owner: "ada" });
    await settle(keys[0], "ada");
    await settle(postpaid, "ben");
    expect(await usedOf(opened, no)).toEqual({ ada: 100, ben: 130 });
    for (const [key, owner] of [
      [keys[0], "ada"],
      [postpaid, "ben"],
    ] as const)
      expect(refusal(await hold(opened, key, 1, { owner })).code).toBe("limit_reached");
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("a change of the limit counts on, and another period counts anew", async () => {
    const { opened, keys } = await bench();
    await using _ = opened;
    const { id, no } = await addCap(opened);
    await spend(opened, keys[0], 100, { owner: "ada" });
    await opened.store.updateValueCap(id, { limit: 120 }, opened.clock.wallMs());
    await opened.refresh();
    await spend(opened, keys[0], 20, { owner: "ada" });
    expect(refusal(await hold(opened, keys[0], 1, { owner: "ada" })).code).toBe("limit_reached");
    opened.clock.advance(24 * 3_600_000);
    await spend(opened, keys[0], 30, { owner: "ada" });
    await opened.store.updateValueCap(id, { period: "month", limit: 160 }, opened.clock.wallMs());
    await opened.refresh();
    expect(await usedOf(opened, no)).toEqual({ ada: 150 });
    expect(refusal(await hold(opened, keys[0], 11, { owner: "ada" })).code).toBe("insufficient_credit");
    expect((await audit(opened.store)).differences).toEqual([]);
  });

  test("the tags that caps count are known, of the key's own scope", async () => {
    const { opened, keys } = await bench(2);
    await using _ = opened;
    const [one = keyRecord(), other = keyRecord()] = keys;
    await addCap(opened, { label: "tag:project", accountId: one.accountId });
    await addCap(opened, { label: "tag:env", value: "prod" });
    await addCap(opened);
    const [gateway] = opened.gateways;
    expect(gateway?.countedTags(one.id)).toEqual(["project", "env"]);
    expect(gateway?.countedTags(other.id)).toEqual(["env"]);
    expect(opened.clock.wallMs()).toBeGreaterThan(day);
  });
});
