import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { AccountView } from "../../../src/admin/accounts/schema.ts";
import type { CapDetailView } from "../../../src/admin/caps/schema.ts";
import type { IssuedKeyView } from "../../../src/admin/key-terms/schema.ts";
import { settleItem } from "../../store/fixtures.ts";
import { type AdminServer, startAdmin, token } from "./fixtures.ts";

/** A report waits ten seconds for the lock of reports.db and fails, so these last longer than any test. */
const waitingReports = 30;

let admin: AdminServer;
let locked: Database;
let reports: Promise<unknown>;

beforeAll(async () => {
  admin = await startAdmin();
  const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 9, label: "reported" });
  const cap = { limit: 20, period: "week" };
  await admin.post<AccountView>("/accounts", { mode: "credit", label: "shared", credit: 2, caps: [cap] });
  // A scrape from before the report.
  expect(await scraped()).toContain(2);
  await admin.store.reports.keyLastDays([id]);
  await admin.store.commit([settleItem(id, 5, { atMs: admin.clock.wallMs() })]);
  locked = new Database(join(admin.dir, "reports.db"));
  locked.run("BEGIN IMMEDIATE");
  reports = Promise.all(Array.from({ length: waitingReports }, () => admin.store.reports.keyLastDays([id])));
});
afterAll(async () => {
  locked.close();
  await reports.catch(() => {});
  await admin[Symbol.asyncDispose]();
});

const patch = <Shape>(path: string, body: object) =>
  admin.json<Shape>(path, { method: "PATCH", body: JSON.stringify(body) });
const refused = async (path: string) => {
  const { status } = await admin.call(path, { method: "POST", body: "{}" });
  return status;
};

/** Balance, cap and what is used of it, of the shared account. */
async function scraped(): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${token}` };
  const metrics = await (await fetch(`${admin.url}/metrics`, { headers })).text();
  const lines = metrics.split("\n").filter((line) => /^sluice_account_.*label="shared"/.test(line));
  return lines.map((line) => Number(line.split(" ").at(-1)));
}

test("keys are created, named by a label or a part of their id, and changed while a report runs", async () => {
  const { id, prefix } = await admin.post<IssuedKeyView>("/keys", {
    mode: "credit",
    credit: 1,
    label: "ada",
  });
  expect(await admin.post("/keys/ada/topup", { amount: 1 })).toMatchObject({ credit: { balance: 2 } });
  expect(await admin.post(`/keys/${id.slice(0, -2)}/adjust`, { amount: -1, note: "twice" })).toMatchObject({
    credit: { balance: 1 },
  });
  const caps = [{ limit: 5, period: "day" }];
  expect(await patch("/keys/ada", { caps })).toMatchObject({ caps: [{ limit: 5 }] });
  expect(await admin.post("/keys/ada/raise-cap", { amount: 1, note: "release" })).toMatchObject({
    caps: [{ raised_by: 1 }],
  });
  const statuses = [];
  for (const verb of ["disable", "enable", "suspend"])
    statuses.push((await admin.post<{ status: string }>(`/keys/ada/${verb}`)).status);
  expect(statuses).toEqual(["disabled", "active", "suspended"]);
  const rotated = await admin.post<IssuedKeyView>("/keys/ada/rotate");
  expect(rotated.key).toStartWith("slu_");
  expect(await refused(`/keys/${prefix}/disable`)).toBe(404);
  expect(await refused("/keys/nobody/disable")).toBe(404);
  expect(await admin.post("/keys/ada/revoke")).toMatchObject({ status: "revoked" });
});

test("accounts are created, named by their label, funded, changed and closed while a report runs", async () => {
  await admin.post<AccountView>("/accounts", { mode: "credit", label: "atlas", credit: 2 });
  await admin.post("/keys", { account: "atlas", label: "bob" });
  expect(await admin.post("/accounts/atlas/topup", { amount: 1 })).toMatchObject({ credit: { balance: 3 } });
  expect(await admin.post("/accounts/atlas/adjust", { amount: -1, note: "twice" })).toMatchObject({
    credit: { balance: 2 },
  });
  await admin.post<AccountView>("/accounts", { mode: "credit", label: "zephyr" });
  expect(await admin.post("/keys/bob/move", { account: "zephyr" })).toMatchObject({ label: "bob" });
  expect(await patch("/accounts/atlas", { label: "Atlas" })).toMatchObject({ label: "Atlas" });
  expect(await admin.post("/accounts/Atlas/close")).toMatchObject({ status: "closed" });
});

test("caps, tokens, sign-ins, prices and acknowledgements change while a report runs", async () => {
  const added = { limit: 20, period: "day", each: "owner" };
  const { id } = await admin.post<CapDetailView>("/caps", added);
  expect(await patch(`/caps/${id}`, { limit: 30 })).toMatchObject({ limit: 30 });
  expect(await admin.post(`/caps/${id}/raise`, { amount: 1, note: "release" })).toMatchObject({ id });
  expect(await admin.json(`/caps/${id}`, { method: "DELETE" })).toMatchObject({ id });
  const token = await admin.post<{ id: string }>("/admin-tokens", { label: "ci", role: "viewer" });
  await admin.post(`/admin-tokens/${token.id}/revoke`);
  const until = new Date(admin.clock.wallMs() + 1_000).toISOString();
  await admin.post("/alerts/ack", { kind: "provider_failing", until });
  await admin.post("/config/reload");
  const { id: key } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 1, label: "page" });
  await admin.post("/playground/keys", { key });
});

test("metrics keep the balances and caps of accounts while a report runs, as they are now", async () => {
  await admin.post("/accounts/shared/topup", { amount: 5 });
  expect(await scraped()).toEqual([7, 20, 0]);
});

test("no report has ended meanwhile", async () => {
  expect(await Promise.race([reports.then(() => "ended"), Bun.sleep(0).then(() => "waiting")])).toBe(
    "waiting",
  );
});
