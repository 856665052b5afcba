import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AccountView } from "../../../src/admin/accounts/schema.ts";
import type { IssuedKeyView, KeyList } from "../../../src/admin/key-terms/schema.ts";
import type { PlaygroundView } from "../../../src/admin/playground/schema.ts";
import { hashSecret } from "../../../src/keys/secret.ts";
import { type AdminServer, startAdmin } from "./fixtures.ts";

let admin: AdminServer;
beforeAll(async () => {
  admin = await startAdmin(
    '[admin]\nviewers = ["vera@example.com"]\nmembers = "everyone"\nuser_header = "x-forwarded-email"\n[server]\ntrusted_proxies = ["10.0.0.1"]\n',
  );
});
afterAll(() => admin[Symbol.asyncDispose]());

const open = (body: object) => admin.post<PlaygroundView>("/playground/keys", body);
const statusOf = async (body: object) =>
  (await admin.call("/playground/keys", { method: "POST", body: JSON.stringify(body) })).status;

test("a secret of the playground stands for the chosen key for an hour and at most one credit", async () => {
  const { key: own, ...made } = await admin.post<IssuedKeyView>("/keys", {
    mode: "credit",
    credit: 5,
    label: "Atlas",
  });
  const opened = await open({ key: "Atlas" });
  expect(opened).toEqual({
    key: expect.stringMatching(/^slu_/),
    ...{ key_id: made.id, label: "Atlas", prefix: made.prefix, mode: "credit", limit: 1 },
    expires_at: new Date(admin.deps.clock.wallMs() + 3_600_000).toISOString(),
  });
  expect(opened.key).not.toBe(own);
  const { playground } = admin.deps.store.admin;
  const hash = hashSecret(opened.key);
  expect(await playground.find(hash, 0)).toMatchObject({ keyId: made.id, amountLeft: 1e9 });
  expect((await admin.json<KeyList>("/keys")).data.map(({ id }) => id)).toEqual([made.id]);
  const [latest] = await admin.deps.store.admin.listAudit({ limit: 1 });
  expect(latest).toMatchObject({ action: "playground.open", target: made.prefix });
  expect(latest?.detail).toStartWith("at most 1 credit until ");
});

test("an account has one key for the playground, with the account's caps for keys", async () => {
  const account = await admin.post<AccountView>("/accounts", {
    mode: "token_budget",
    label: "Research",
    key_caps: [{ limit: 5000, period: "day" }],
  });
  const [one, other] = [await open({ account: "Research" }), await open({ account: account.id })];
  expect(one.key).not.toBe(other.key);
  expect(one).toMatchObject({
    key_id: other.key_id,
    label: "Playground",
    mode: "token_budget",
    limit: 100_000,
  });
  const key = admin.deps.keys.byId(one.key_id);
  expect(key).toMatchObject({ accountId: account.id, caps: [{ limit: 5000, period: "day" }] });
  const actions = (await admin.deps.store.admin.listAudit({ limit: 3 })).map(({ action }) => action);
  expect(actions).toEqual(["playground.open", "playground.open", "key.create"]);
});

test.each(["vera@example.com", "a.member@example.com"])(
  "%s, who is no admin, gets no secret",
  async (who) => {
    const { data } = await admin.json<KeyList>("/keys");
    const response = await admin.call("/playground/keys", {
      method: "POST",
      headers: { authorization: "", origin: admin.url, "x-from": "10.0.0.1", "x-forwarded-email": who },
      body: JSON.stringify({ key: data[0]?.id }),
    });
    expect(response.status).toBe(403);
    expect(await response.text()).not.toContain("slu_");
  },
);

test("no choice, two of them, and a key that cannot be used are rejected", async () => {
  expect(await statusOf({})).toBe(400);
  expect(await statusOf({ key: "Atlas", account: "Research" })).toBe(400);
  expect(await statusOf({ key: "nobody's" })).toBe(404);
  const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit" });
  await admin.post(`/keys/${id}/disable`, {});
  expect(await statusOf({ key: id })).toBe(409);
});
