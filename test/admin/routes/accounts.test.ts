import { describe, expect, test } from "bun:test";
import { createAccount } from "../../../src/admin/accounts/accounts.ts";
import type { AccountList, AccountView } from "../../../src/admin/accounts/schema.ts";
import type { StatementView } from "../../../src/admin/accounts/statement-schema.ts";
import type { ErrorView } from "../../../src/admin/formats/shapes.ts";
import type { IssuedKeyView, KeyView } from "../../../src/admin/key-terms/schema.ts";
import { holdFor } from "../../ledger/fixtures.ts";
import { type AdminServer, startAdmin, token } from "./fixtures.ts";

const patch = <Shape>(admin: AdminServer, path: string, body: unknown) =>
  admin.json<Shape>(path, { method: "PATCH", body: JSON.stringify(body) });

const refused = async (admin: AdminServer, path: string, body: unknown, method = "POST") => {
  const response = await admin.call(path, { method, body: JSON.stringify(body) });
  const { error } = (await response.json()) as ErrorView;
  return `${response.status} ${error.code}: ${error.message}`;
};

/** Oldest first, without what was there before. */
async function audited(admin: AdminServer): Promise<string[]> {
  const rows = await admin.store.admin.listAudit({ limit: 100 });
  return rows.map(({ action, detail }) => (detail === null ? action : `${action} ${detail}`)).toReversed();
}

describe("accounts", () => {
  test("are made, changed, topped up, corrected and closed, each with a line in the audit log", async () => {
    await using admin = await startAdmin();
    const made = await admin.post<AccountView>("/accounts", {
      mode: "credit",
      label: "atlas",
      credit: 100,
      caps: [{ limit: 50, period: "month", models: "gpt-*" }],
      key_caps: [{ limit: 5, period: "day" }],
    });
    expect(made).toMatchObject({
      label: "atlas",
      postpaid: false,
      credit: { balance: 100 },
      caps: [{ limit: 50, period: "month", models: "gpt-*", used: 0 }],
      key_caps: [{ limit: 5, period: "day", models: null }],
      keys: [],
    });
    const path = `/accounts/${made.id}`;
    const caps = [{ limit: 80, period: "month", models: "gpt-*" }];
    expect(await patch<AccountView>(admin, path, { label: "Atlas", postpaid: true, caps })).toMatchObject({
      label: "Atlas",
      postpaid: true,
      caps: [{ limit: 80 }],
    });
    const topUp = () => admin.post<object>(`${path}/topup`, { amount: 5, reference: "invoice 7" });
    expect([await topUp(), await topUp()]).toMatchObject([{ repeated: false }, { repeated: true }]);
    await admin.post(`${path}/adjust`, { amount: -1, note: "entered twice" });
    expect((await admin.post<AccountView>(`${path}/close`)).status).toBe("closed");
    const shown = await admin.json<AccountView>("/accounts/Atlas");
    expect(shown).toMatchObject({ status: "closed", credit: { balance: 104 } });
    expect((await admin.json<AccountList>("/accounts")).data).toEqual([shown]);
    expect(await audited(admin)).toEqual([
      "account.create credit, 100 credits, caps 50/month:gpt-*, caps of new keys 5/day",
      "account.update label, postpaid no → yes, caps 50/month:gpt-* → 80/month:gpt-*",
      "account.topup +5 credits",
      "account.topup +5 credits (reference already used, nothing changed)",
      "account.adjust -1 credit",
      "account.close",
    ]);
  });

  test("are drawn on by keys with owners and caps, which move and are extended", async () => {
    await using admin = await startAdmin();
    const account = (body: object) => admin.post<AccountView>("/accounts", { mode: "credit", ...body });
    const [atlas, zephyr] = [
      await account({ label: "atlas", credit: 10, key_caps: [{ limit: 5, period: "day" }] }),
      await account({ label: "zephyr", postpaid: true }),
    ];
    const { key: _, ...ada } = await admin.post<IssuedKeyView>("/keys", { account: "atlas", owner: "ada" });
    expect(ada).toMatchObject({ mode: "credit", account: atlas.id, owner: "ada", caps: [{ limit: 5 }] });
    const caps = [
      { limit: 1, period: "day" },
      { limit: 2, period: "month", models: "gpt-*" },
    ];
    const path = `/keys/${ada.id}`;
    const changed = await patch<KeyView>(admin, path, { owner: "ben", caps });
    expect(changed).toMatchObject({ owner: "ben", caps: [{ limit: 1 }, { limit: 2, models: "gpt-*" }] });
    const extension = { amount: 3, note: "release week" };
    expect(await refused(admin, `${path}/raise-cap`, extension)).toBe(
      "400 invalid_input: Pass one of its caps: day, month:gpt-*.",
    );
    const extended = await admin.post<KeyView>(`${path}/raise-cap`, { ...extension, cap: "month:gpt-*" });
    expect(extended.caps).toMatchObject([{ limit: 1 }, { limit: 5 }]);
    const moved = await admin.post<KeyView>(`${path}/move`, { account: "zephyr" });
    expect(moved).toMatchObject({ account: zephyr.id, credit: { balance: 0 } });
    expect(await admin.json<KeyView>(path)).toEqual({ ...moved, last_used_on: null });
    // What the gateway has in memory has followed: the account is open, so nothing but the caps is in the way.
    const key = admin.deps.keys.byId(ada.id);
    if (key === null) throw new Error("the key is gone");
    const hold = await holdFor(admin.deps.accounts, key, 1_000_000_000);
    admin.deps.accounts.release(hold);
    expect((await admin.json<AccountView>(`/accounts/${zephyr.id}`)).keys).toMatchObject([
      { id: ada.id, owner: "ben", status: "active", caps: [{ limit: 1 }, { limit: 5 }] },
    ]);
    expect((await audited(admin)).slice(2)).toEqual([
      `key.create credit, ${atlas.id}, owner ada, caps 5/day`,
      "key.update owner ada → ben, caps 5/day → 1/day, 2/month:gpt-*",
      "key.raise_cap +3/month:gpt-*: release week",
      `key.move ${atlas.id} → ${zephyr.id}`,
    ]);
  });

  test("and their caps are metrics, at most a hundred of them", async () => {
    await using admin = await startAdmin();
    const caps = [{ limit: 20, period: "week", models: "gpt-*" }];
    const { id } = await admin.post<AccountView>("/accounts", {
      mode: "credit",
      label: "atlas",
      credit: 7,
      caps,
    });
    for (let n = 0; n < 105; n += 1) {
      const spec = { mode: "credit", label: `team ${n}` } as const;
      await createAccount(admin.deps, spec);
    }
    const response = await fetch(`${admin.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const lines = (await response.text()).split("\n");
    const labels = `account="${id}",label="atlas",unit="credits"`;
    expect(lines).toContain(`sluice_account_balance{${labels}} 7`);
    expect(lines).toContain(`sluice_account_cap_limit{${labels},period="week",models="gpt-*"} 20`);
    expect(lines).toContain(`sluice_account_cap_used{${labels},period="week",models="gpt-*"} 0`);
    expect(lines.filter((line) => line.startsWith("sluice_account_balance{"))).toHaveLength(100);
  });

  test("are listed a page at a time where a limit is given, and all at once without one", async () => {
    await using admin = await startAdmin();
    const ids: string[] = [];
    for (const label of ["one", "two", "three"])
      ids.push((await admin.post<AccountView>("/accounts", { mode: "credit", label })).id);
    const page = (query: string) => admin.json<AccountList>(`/accounts${query}`);
    const first = await page("?limit=2");
    expect([first.data.length, first.next_cursor]).toEqual([2, first.data[1]?.id ?? ""]);
    const rest = await page(`?limit=2&cursor=${first.next_cursor}`);
    expect([rest.data.length, rest.next_cursor]).toEqual([1, null]);
    expect([...first.data, ...rest.data].map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(await page("")).toMatchObject({ data: { length: 3 }, next_cursor: null });
    expect((await admin.call("/accounts?limit=0")).status).toBe(400);
  });

  test("are not corrected below what open requests hold", async () => {
    await using admin = await startAdmin();
    await admin.post("/accounts", { mode: "credit", label: "atlas", credit: 3 });
    const { id } = await admin.post<IssuedKeyView>("/keys", { account: "atlas" });
    const key = admin.deps.keys.byId(id);
    if (key === null) throw new Error("the key is gone");
    await holdFor(admin.deps.accounts, key, 2_000_000_000);
    const taken = await refused(admin, "/accounts/atlas/adjust", { amount: -1.5, note: "too much" });
    expect(taken).toContain(
      "only 3 credits (2 reserved by requests in progress), so 1.5 cannot be subtracted.",
    );
  });

  test("that owe something stay open, and closed ones take no key", async () => {
    await using admin = await startAdmin();
    await admin.post("/accounts", { mode: "credit", label: "acme", postpaid: true });
    await admin.post("/accounts/acme/adjust", { amount: -7, note: "of the old gateway" });
    expect(await refused(admin, "/accounts/acme", { postpaid: false }, "PATCH")).toContain(
      "has an amount due",
    );
    await admin.post("/accounts/acme/topup", { amount: 7 });
    expect((await patch<AccountView>(admin, "/accounts/acme", { postpaid: false })).postpaid).toBe(false);
    await admin.post("/accounts/acme/close");
    expect(await refused(admin, "/keys", { account: "acme" })).toContain("is closed");
  });

  test("and caps that make no sense are refused, and nothing is made", async () => {
    await using admin = await startAdmin();
    await admin.post("/accounts", { mode: "token_budget", label: "class", budget_tokens: 1000 });
    const { id } = await admin.post<IssuedKeyView>("/keys", { account: "class" });
    const cap = { limit: 1, period: "day" };
    const cases: [path: string, body: unknown, answer: RegExp][] = [
      ["/accounts", { mode: "credit" }, /^400 invalid_request: `label` is missing/],
      ["/accounts", { mode: "credit", label: "a\nb" }, /^400 invalid_input/],
      ["/accounts", { mode: "credit", label: "a", budget_tokens: 5 }, /no token budget/],
      ["/accounts", { mode: "token_budget", label: "a", credit: 5 }, /no credit/],
      [
        "/accounts",
        { mode: "token_budget", label: "a", postpaid: true },
        /Only credit accounts can be postpaid/,
      ],
      ["/accounts", { mode: "credit", label: "a", caps: [cap, cap] }, /two caps/i],
      ["/accounts", { mode: "credit", label: "a", caps: [{ ...cap, models: "gpt[45]" }] }, /a cap's models/i],
      ["/accounts", { mode: "credit", label: "a", caps: [{ ...cap, period: "year" }] }, /caps\.0\.period/],
      ["/accounts", { mode: "credit", label: "a", caps: [{ ...cap, limit: -1 }] }, /caps\.0\.limit/],
      ["/accounts", { mode: "credit", label: "a", caps: [{ ...cap, limit: 5e6 }] }, /at most 4000000/],
      ["/accounts", { mode: "credit", label: "a", credit: 1e-10 }, /nine decimals/],
      ["/accounts/nobody/topup", { amount: 1 }, /^404 unknown_account/],
      ["/accounts/class/topup", { amount: 1 }, /^400 wrong_mode/],
      ["/accounts/class/adjust", { amount: 1, note: " " }, /^400 invalid_input/],
      ["/accounts/class/adjust", { amount: 0, note: "nothing" }, /^400 invalid_input: An adjustment of 0/],
      ["/keys", {}, /pass a mode or an account/i],
      ["/keys", { account: "class", mode: "credit" }, /account's keys have mode token_budget/],
      ["/keys", { account: "class", budget_tokens: 5 }, /set balance and budget on the account/i],
      ["/keys", { mode: "token_budget", postpaid: true }, /billed in credits/],
      [`/keys/${id}/raise-cap`, { amount: 5, note: "why" }, /has no cap/],
      [`/keys/${id}/move`, { account: "nobody" }, /^404 unknown_account/],
    ];
    const before = (await audited(admin)).length;
    for (const [path, body, answer] of cases) expect(await refused(admin, path, body)).toMatch(answer);
    expect(await refused(admin, `/keys/${id}`, { budget_tokens: 5 }, "PATCH")).toContain(
      "update the account instead",
    );
    expect(await refused(admin, `/keys/${id}`, { caps: [{ ...cap, limit: 0.5 }] }, "PATCH")).toContain(
      "whole number of tokens",
    );
    expect(await refused(admin, "/accounts/class", {}, "PATCH")).toContain("Nothing to change");
    expect((await admin.json<AccountList>("/accounts")).data).toHaveLength(1);
    expect(await audited(admin)).toHaveLength(before);
  });
});

test("a statement says what is owed, to the nano-credit, and whether its month is over", async () => {
  await using admin = await startAdmin();
  const { id } = await admin.post<AccountView>("/accounts", {
    mode: "credit",
    label: "billed",
    postpaid: true,
  });
  await admin.post(`/accounts/${id}/topup`, { amount: 2.5, reference: "invoice 7" });
  await admin.post(`/accounts/${id}/adjust`, { amount: -4, note: "entered twice" });
  const month = new Date(admin.clock.wallMs()).toISOString().slice(0, 7);
  const running = await admin.json<StatementView>(`/statement?month=${month}&account=billed`);
  expect([running.unfinished, running.accounts[0]?.account]).toEqual([true, id]);
  expect(running.accounts).toMatchObject([
    { opening: 0, topped_up: 2.5, adjusted: -4, closing: -1.5, owed: 1.5, total_nano: -1_500_000_000 },
  ]);
  const before = await admin.json<StatementView>(`/statement?month=2020-01&account=${id}`);
  expect([before.unfinished, before.accounts]).toMatchObject([false, [{ owed: 0, lines: [] }]]);
  expect((await admin.call("/statement?month=2020-13")).status).toBe(400);
  expect((await admin.call("/statement?month=2020-01&account=nobody")).status).toBe(404);
});
