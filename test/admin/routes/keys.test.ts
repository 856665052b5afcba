import { describe, expect, test } from "bun:test";
import type { ErrorView } from "../../../src/admin/formats/shapes.ts";
import type { IssuedKeyView, KeyList, KeyView } from "../../../src/admin/key-terms/schema.ts";
import { holdFor } from "../../ledger/fixtures.ts";
import { startAdmin } from "./fixtures.ts";

async function errorOf(response: Response): Promise<string> {
  return `${response.status} ${((await response.json()) as ErrorView).error.code}`;
}

describe("keys", () => {
  test("are made with everything asked for, and the secret is told once", async () => {
    await using admin = await startAdmin();
    const made = await admin.post<IssuedKeyView>("/keys", {
      mode: "token_budget",
      label: "nightly",
      budget_tokens: 5000,
      period: "day",
      rpm_limit: 60,
      provider_scope: "openai",
      models: ["gpt-test"],
      expires_at: "2027-01-01T00:00:00Z",
    });
    expect(admin.deps.keys.find(made.key)?.id).toBe(made.id);
    const { key: secret, ...shown } = made;
    expect(await admin.json<KeyView>(`/keys/${made.id}`)).toEqual({ ...shown, last_used_on: null });
    expect(shown).toMatchObject({
      label: "nightly",
      status: "active",
      rpm_limit: 60,
      provider_scope: "openai",
      credit: null,
    });
    expect(shown.budget).toMatchObject({
      tokens: 5000,
      remaining: 5000,
      resets_at: "2026-11-16T00:00:00.000Z",
    });
    expect(JSON.stringify(await admin.json("/keys"))).not.toContain(secret);
  });

  test("expire at a time that is read as commands read it: in UTC, and on a day that there is", async () => {
    await using admin = await startAdmin();
    const { id } = await admin.post<IssuedKeyView>("/keys", {
      mode: "credit",
      expires_at: "2027-01-01T10:00",
    });
    expect((await admin.json<KeyView>(`/keys/${id}`)).expires_at).toBe("2027-01-01T10:00:00.000Z");
    for (const expires_at of ["2027-02-30", "2027-02-30T10:00:00Z", "2027-01-01 or so"]) {
      const body = JSON.stringify({ mode: "credit", expires_at });
      const refused = await admin.call("/keys", { method: "POST", body });
      expect(await errorOf(refused)).toBe("400 invalid_request");
    }
  });

  test("are topped up once per reference", async () => {
    await using admin = await startAdmin();
    const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 1 });
    await admin.post(`/keys/${id}/topup`, { amount: 2.5, reference: "invoice 7" });
    const again = await admin.post<KeyView>(`/keys/${id}/topup`, { amount: 2.5, reference: "invoice 7" });
    expect(again.credit).toEqual({ purchased: 3.5, used: 0, balance: 3.5 });
  });

  test("are adjusted in either direction, but not below what open requests leave available", async () => {
    await using admin = await startAdmin();
    const { id, prefix } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 5 });
    const lowered = await admin.post<KeyView>(`/keys/${id}/adjust`, { amount: -2, note: "entered twice" });
    expect(lowered.credit).toEqual({ purchased: 3, used: 0, balance: 3 });
    const key = admin.deps.keys.byId(id);
    if (key === null) throw new Error("the key is gone");
    const hold = await holdFor(admin.deps.accounts, key, 2_000_000_000);
    const adjust = (body: unknown) =>
      admin.call(`/keys/${id}/adjust`, { method: "POST", body: JSON.stringify(body) });
    const refused = await adjust({ amount: -1.5, note: "too much" });
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as ErrorView).error.message).toBe(
      `${prefix} has only 3 credits (2 reserved by requests in progress), so 1.5 cannot be subtracted.`,
    );
    admin.deps.accounts.release(hold);
    const raised = await admin.post<KeyView>(`/keys/${id}/adjust`, { amount: 0.5, note: "refund" });
    expect(raised.credit?.balance).toBe(3.5);
    for (const body of [{ amount: -1 }, { amount: -1, note: "" }, { amount: 0, note: "n" }]) {
      expect((await adjust(body)).status).toBe(400);
    }
  });

  test("get a new secret while the old one lives on for its grace", async () => {
    await using admin = await startAdmin();
    const made = await admin.post<IssuedKeyView>("/keys", { mode: "credit" });
    const rotated = await admin.post<IssuedKeyView>(`/keys/${made.id}/rotate`, { grace_seconds: 60 });
    expect(admin.deps.keys.find(made.key)?.id).toBe(made.id);
    expect(admin.deps.keys.find(rotated.key)?.id).toBe(made.id);
    admin.clock.advance(60_001);
    expect(admin.deps.keys.find(made.key)).toBeNull();
  });

  test("change status as the table of decisions allows, and revoked is final", async () => {
    await using admin = await startAdmin();
    const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit" });
    const after = async (verb: string) => (await admin.post<KeyView>(`/keys/${id}/${verb}`)).status;
    expect(await after("disable")).toBe("disabled");
    expect(await errorOf(await admin.call(`/keys/${id}/suspend`, { method: "POST" }))).toBe(
      "409 wrong_status",
    );
    expect(await after("enable")).toBe("active");
    expect(await after("suspend")).toBe("suspended");
    expect(await after("revoke")).toBe("revoked");
    expect(await errorOf(await admin.call(`/keys/${id}/enable`, { method: "POST" }))).toBe(
      "409 wrong_status",
    );
  });

  test("are changed field by field, and null takes a limit away", async () => {
    await using admin = await startAdmin();
    const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", label: "one", rpm_limit: 5 });
    const body = JSON.stringify({ rpm_limit: null });
    const changed = await admin.json<KeyView>(`/keys/${id}`, { method: "PATCH", body });
    expect(changed).toMatchObject({ label: "one", rpm_limit: null });
  });

  test("are listed newest first, searched, filtered and paged", async () => {
    await using admin = await startAdmin();
    for (let number = 1; number <= 5; number += 1) {
      await admin.post("/keys", { mode: number === 3 ? "token_budget" : "credit", label: `Team ${number}` });
    }
    const labels = ({ data }: KeyList) => data.map((key) => key.label);
    const first = await admin.json<KeyList>("/keys?limit=2");
    expect(labels(first)).toEqual(["Team 5", "Team 4"]);
    expect(first.total).toBe(5);
    const second = await admin.json<KeyList>(`/keys?limit=3&cursor=${first.next_cursor}`);
    expect(labels(second)).toEqual(["Team 3", "Team 2", "Team 1"]);
    expect(second.next_cursor).toBeNull();
    expect(labels(await admin.json("/keys?search=team%204"))).toEqual(["Team 4"]);
    expect(labels(await admin.json("/keys?mode=token_budget"))).toEqual(["Team 3"]);
    expect((await admin.json<KeyList>("/keys?status=revoked")).total).toBe(0);
  });

  test("that nobody knows, and bodies that are not right, are refused by name", async () => {
    await using admin = await startAdmin();
    const post = (body: string) => admin.call("/keys", { method: "POST", body });
    expect(await errorOf(await admin.call("/keys/key_nobody"))).toBe("404 unknown_key");
    expect(await errorOf(await post("{"))).toBe("400 invalid_request");
    expect(await errorOf(await post('{"mode":"free"}'))).toBe("400 invalid_request");
    expect(await errorOf(await post('{"mode":"credit","credits":5}'))).toBe("400 invalid_request");
    expect(await errorOf(await post('{"mode":"credit","budget_tokens":5}'))).toBe("400 invalid_input");
    for (const limit of ["9999", "1e1", "0x5", "%205", "5.0", "1.9", "+5", "x"]) {
      expect(await errorOf(await admin.call(`/keys?limit=${limit}`))).toBe("400 invalid_request");
    }
    expect(await errorOf(await admin.call("/nowhere"))).toBe("404 not_found");
  });
});

describe("a body that is not right", () => {
  const messageOf = async (admin: Awaited<ReturnType<typeof startAdmin>>, path: string, body: unknown) => {
    const response = await admin.call(path, { method: "POST", body: JSON.stringify(body) });
    expect(response.status).toBe(400);
    return ((await response.json()) as ErrorView).error.message;
  };

  test("is told in words what it should be", async () => {
    await using admin = await startAdmin();
    const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 1 });
    const tooMuch = "An amount can be at most 4000000, with at most nine decimals.";
    const cases: [path: string, body: unknown, message: string][] = [
      [`/keys/${id}/topup`, { amount: "2,5" }, '`amount` must be a number above 0, not "2,5".'],
      [`/keys/${id}/topup`, { amount: null }, "`amount` must be a number above 0."],
      [`/keys/${id}/topup`, { amount: -1 }, "`amount` must be a number above 0, not -1."],
      [`/keys/${id}/topup`, {}, "`amount` is missing; it must be a number above 0."],
      [`/keys/${id}/topup`, { amount: 1, nte: "x" }, '`nte` is not a known field, did you mean "note"?'],
      [`/keys/${id}/topup`, { amount: 9_000_000 }, tooMuch],
      [`/keys/${id}/adjust`, { amount: 0.1234567891, note: "x" }, tooMuch],
      ["/keys", { mode: "credit", credit: 4_000_001 }, tooMuch],
      ["/keys", { mode: "credit", credit: 0.0000000001 }, tooMuch],
      ["/keys", { mode: "debit" }, '`mode` must be one of "credit", "token_budget", not "debit".'],
      [
        "/keys",
        { mode: "credit", rpm_limit: 1.5 },
        "`rpm_limit` must be a whole number of at least 1 or null, not 1.5.",
      ],
      [
        "/keys",
        { mode: "credit", models: ["gpt-tset"] },
        'Model "gpt-tset" does not exist, did you mean "gpt-test"?',
      ],
      [
        "/keys",
        { mode: "credit", provider_scope: "opneai" },
        'Provider "opneai" does not exist, did you mean "openai"?',
      ],
    ];
    for (const [path, body, message] of cases) expect(await messageOf(admin, path, body)).toBe(message);
  });
});
