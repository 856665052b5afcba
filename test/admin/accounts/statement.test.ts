import { expect, test } from "bun:test";
import type { StatementView } from "../../../src/admin/accounts/statement-schema.ts";
import type { IssuedKeyView } from "../../../src/admin/key-terms/schema.ts";
import { settleItem } from "../../store/fixtures.ts";
import { startAdmin } from "../routes/fixtures.ts";

const month = new Date().toISOString().slice(0, 7);

test("an open account owes what was charged beyond its credit, and nothing while it has some", async () => {
  await using admin = await startAdmin();
  const make = (label: string) =>
    admin.post<{ readonly id: string }>("/accounts", { mode: "credit", label, postpaid: true });
  const [inDebt, inCredit] = [await make("in debt"), await make("in credit")];
  const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", account: inDebt.id });
  await admin.store.commit([settleItem(id, 2_000_000_000, { accountId: inDebt.id, atMs: Date.now() })]);
  await admin.post(`/accounts/${inCredit.id}/topup`, { amount: 3 });
  const { accounts } = await admin.json<StatementView>(`/statement?month=${month}`);
  const owed = accounts.map(({ label, closing, owed }) => [label, closing, owed]);
  expect(owed).toEqual([
    ["in debt", -2, 2],
    ["in credit", 3, 0],
  ]);
});

test("a statement has top-ups in their order, then charges by key and model", async () => {
  await using admin = await startAdmin();
  const account = await admin.post<{ readonly id: string }>("/accounts", { mode: "credit", label: "team" });
  const accountId = account.id;
  const make = () => admin.post<IssuedKeyView>("/keys", { mode: "credit", account: accountId });
  const ids = [(await make()).id, (await make()).id].toSorted();
  await admin.post(`/accounts/${accountId}/topup`, { amount: 3, note: "first" });
  const charges = [1, 0].flatMap((key) =>
    ["small", "large"].map((model) => {
      const item = settleItem(ids[key] ?? "", 1_000, { accountId, model, atMs: Date.now() });
      return { ...item, record: item.record && { ...item.record, model } };
    }),
  );
  await admin.store.commit(charges);
  await admin.post(`/accounts/${accountId}/topup`, { amount: 4, note: "second" });
  const { accounts } = await admin.json<StatementView>(`/statement?month=${month}`);
  const lines = accounts[0]?.lines.map(({ note, key_id, model }) => note ?? [key_id, model]);
  expect(lines).toEqual([
    "first",
    "second",
    [ids[0] ?? "", "large"],
    [ids[0] ?? "", "small"],
    [ids[1] ?? "", "large"],
    [ids[1] ?? "", "small"],
  ]);
});
