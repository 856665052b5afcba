import { describe, expect, test } from "bun:test";
import type { AccountView } from "../../src/admin/accounts/schema.ts";
import type { KeyView } from "../../src/admin/key-terms/schema.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

describe("accounts", () => {
  test("are made, topped up, shown with their keys, and closed for good", async () => {
    const place = newPlace();
    const create = ["accounts", "create", "--mode", "credit", "--label", "atlas", "--credit", "100"];
    const made = await sluiceJson<AccountView>(
      place,
      ...create,
      "--cap",
      "50/month:gpt-*",
      "--key-cap",
      "5/day",
    );
    expect(made).toMatchObject({
      mode: "credit",
      label: "atlas",
      postpaid: false,
      credit: { balance: 100 },
      caps: [{ limit: 50, period: "month", models: "gpt-*", used: 0 }],
    });
    expect(made.id.startsWith("acc_")).toBe(true);
    const key = await sluiceJson<KeyView>(place, "keys", "create", "--account", "atlas", "--owner", "ada");
    expect(key).toMatchObject({
      account: made.id,
      owner: "ada",
      mode: "credit",
      caps: [{ limit: 5, period: "day", models: null, used: 0 }],
    });
    const extend = ["keys", "raise-cap", key.prefix, "2", "--note", "release week"];
    expect((await sluiceJson<KeyView>(place, ...extend)).caps).toMatchObject([{ limit: 7 }]);
    const [titles, row] = (await sluice(place, "keys", "list")).stdout.split("\n");
    expect([titles, row]).toEqual([expect.stringContaining("OWNER"), expect.stringContaining("ada")]);
    const opened = await sluiceJson<AccountView>(place, "accounts", "update", "atlas", "--postpaid");
    expect(opened.postpaid).toBe(true);
    const prepaid = await sluiceJson<AccountView>(place, "accounts", "update", "atlas", "--no-postpaid");
    expect(prepaid.postpaid).toBe(false);
    await sluice(place, "accounts", "topup", "atlas", "5");
    await sluice(place, "accounts", "adjust", "atlas", "-1", "--note", "entered twice");
    const shown = await sluiceJson<AccountView>(place, "accounts", "show", made.id);
    expect(shown).toMatchObject({ credit: { balance: 104 }, keys: [{ id: key.id, owner: "ada" }] });
    expect((await sluice(place, "accounts", "close", "atlas")).code).toBe(1);
    const closed = await sluice(place, "accounts", "close", "atlas", "--yes");
    expect(closed.code).toBe(0);
    expect(closed.stdout).toStartWith("✓ closed atlas\n");
    expect((await sluiceJson<KeyView>(place, "keys", "show", key.id)).status).toBe("disabled");
    expect((await sluice(place, "keys", "create", "--account", "atlas")).code).toBe(1);
    expect((await sluice(place, "ledger", "audit")).code).toBe(0);
  });

  test("take keys of their own mode, and caps that are written like one", async () => {
    const place = newPlace();
    const team = ["accounts", "create", "--mode", "credit", "--label", "team", "--postpaid"];
    const { id } = await sluiceJson<AccountView>(place, ...team);
    const own = await sluiceJson<KeyView>(place, "keys", "create", "--mode", "credit", "--cap", "1/week");
    const moved = await sluiceJson<KeyView>(place, "keys", "move", own.prefix, "--account", "team");
    expect(moved).toMatchObject({ account: id, caps: [{ limit: 1, period: "week" }] });
    const tokens = await sluiceJson<KeyView>(place, "keys", "create", "--mode", "token_budget");
    expect((await sluice(place, "keys", "move", tokens.prefix, "--account", "team")).code).toBe(1);
    expect((await sluice(place, "keys", "update", own.prefix, "--cap", "5/year")).code).toBe(2);
    const without = await sluiceJson<KeyView>(place, "keys", "update", own.prefix, "--cap", "none");
    expect(without.caps).toEqual([]);
    expect((await sluice(place, "keys", "create")).code).toBe(2);
  });

  test("say in words what an open account owes, its caps, what new keys get, and what a cap is raised by", async () => {
    const place = newPlace();
    const create = ["accounts", "create", "--mode", "credit", "--label", "acme", "--postpaid"];
    await sluiceJson(place, ...create, "--cap", "500/month", "--key-cap", "5/day:gpt-*");
    const key = await sluiceJson<KeyView>(place, "keys", "create", "--account", "acme");
    expect(key).toMatchObject({ postpaid: true, account_status: "active", account_caps: [{ limit: 500 }] });
    await sluice(place, "accounts", "adjust", "acme", "-1734.2", "--note", "carried over");
    await sluice(place, "keys", "raise-cap", key.prefix, "2", "--note", "release week");
    const shown = (await sluice(place, "accounts", "show", "acme")).stdout;
    expect(shown).toContain("postpaid, limited only by caps");
    expect(shown).toMatch(/owed +1,734\.20 credits/);
    expect(shown).toMatch(/default key cap +5\.00 credits per day for gpt-\*/);
    expect(shown).toMatch(
      /0\.00 of 7\.00 credits per day for gpt-\*, raised by 2\.00 until [\d-]+ 00:00 UTC/,
    );
    const ofKey = (await sluice(place, "keys", "show", key.prefix)).stdout;
    expect(ofKey).toMatch(/owed +1,734\.20 credits +postpaid/);
    expect(ofKey).toMatch(/account cap +0\.00 of 500\.00 credits per month/);
    expect(ofKey).not.toContain("balance");
    const listed = (await sluice(place, "keys", "list")).stdout;
    expect(listed).toMatch(/ACCOUNT.+\n.+acme.+7\.00 of 7\.00 cr\/day/);
  });

  test("say that an open account topped up beyond what it owes has paid ahead", async () => {
    const place = newPlace();
    const { id } = await sluiceJson<AccountView>(
      ...([place, "accounts", "create", "--mode", "credit", "--label", "acme", "--postpaid"] as const),
    );
    await sluiceJson(place, "accounts", "topup", "acme", "5");
    const { prefix } = await sluiceJson<KeyView>(place, "keys", "create", "--account", "acme");
    const print = async (...command: string[]) => (await sluice(place, ...command)).stdout;
    expect(await print("accounts", "show", "acme")).toMatch(/^\s*paid ahead +5\.00 credits$/m);
    expect(await print("accounts", "list")).toContain(" 5.00 credits paid ahead ");
    expect(await print("keys", "list")).toContain(" 5.00 cr paid ahead ");
    const ofKey = await print("keys", "show", prefix);
    expect(ofKey).toMatch(/^\s*paid ahead +5\.00 credits +postpaid$/m);
    expect(ofKey).toMatch(new RegExp(`^\\s*account +acme +${id}$`, "m"));
  });

  test("say that a known reference adds nothing, and warn of credit that nobody can spend", async () => {
    const place = newPlace();
    await sluiceJson(place, "accounts", "create", "--mode", "credit", "--label", "atlas");
    const topUp = ["accounts", "topup", "atlas", "5", "--reference", "invoice-7"];
    const first = await sluice(place, ...topUp);
    expect(first.stdout).toContain("✓ atlas: +5.00 credits");
    expect(first.stderr).not.toContain("closed");
    const again = await sluice(place, ...topUp);
    expect(again.stdout).toContain(
      "= atlas already has an entry with this reference (invoice-7); nothing was changed",
    );
    expect(await sluiceJson(place, ...topUp)).toMatchObject({
      credit: { balance: 5 },
      repeated: true,
    });
    const other = await sluice(place, "accounts", "topup", "atlas", "6", "--reference", "invoice-7");
    expect(other.stderr).toContain("was already used on this account with a different amount");
    const key = await sluiceJson<KeyView>(place, "keys", "create", "--account", "atlas");
    await sluice(place, "accounts", "close", "atlas", "--yes");
    expect((await sluice(place, "accounts", "topup", "atlas", "1")).stderr).toContain(
      "atlas is closed, so no key can spend this credit",
    );
    expect((await sluice(place, "keys", "show", key.prefix)).stdout).toContain(", which is closed");
  });
});
