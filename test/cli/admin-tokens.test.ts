import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AdminTokenView, IssuedAdminTokenView } from "../../src/admin/auth/schema.ts";
import type { Page } from "../../src/admin/formats/shapes.ts";
import type { AuditView } from "../../src/admin/system/schema.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

let sluice: Sluice;
beforeAll(async () => {
  sluice = await startSluice({ env: { SLUICE_ADMIN_TOKEN: "the-first-token-of-all" } });
});
afterAll(() => sluice.dispose());

const create = (label: string, role: string) =>
  sluice.cliJson<IssuedAdminTokenView>("admin-tokens", "create", "--label", label, "--role", role);
const call = (path: string, token: string, body?: object) =>
  sluice.request(`/admin/api/v1${path}`, { headers: { authorization: `Bearer ${token}` }, body });
const signIn = async (token: string) => {
  const answer = await call("/session", "unused", { token });
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
};

test("each token has its role, and its own name in the audit log", async () => {
  const [reader, writer] = [await create("grafana", "viewer"), await create("terraform", "admin")];
  expect(reader).toMatchObject({ id: expect.stringMatching(/^adm_/), label: "grafana", role: "viewer" });
  expect((await call("/health", reader.token)).status).toBe(200);
  expect(
    (await sluice.request("/metrics", { headers: { authorization: `Bearer ${reader.token}` } })).status,
  ).toBe(200);
  for (const [path, body] of [
    ["/keys", { mode: "credit" }],
    ["/models/check", {}],
    ["/admin-tokens", { label: "mine" }],
  ] as const) {
    expect((await call(path, reader.token, body)).status).toBe(403);
  }
  expect((await call("/keys", writer.token, { mode: "credit" })).status).toBe(200);
  const { data } = (await (await call("/audit", writer.token)).json()) as Page<AuditView>;
  expect(data[0]).toMatchObject({ action: "key.create", actor: "token terraform" });
  expect(JSON.stringify(data)).not.toContain(writer.token);
});

test("the list begins with the first token and tells no secret", async () => {
  const listed = await sluice.cliJson<AdminTokenView[]>("admin-tokens", "list");
  expect(listed[0]).toMatchObject({ id: "admin", role: "admin" });
  expect(JSON.stringify(listed)).not.toContain("slua_");
});

test("a revoked token is nobody at once, and neither is who signed in with it", async () => {
  const { token, id } = await create("temp", "admin");
  const cookie = await signIn(token);
  const bySession = () => sluice.request("/admin/api/v1/health", { headers: { cookie } });
  expect((await bySession()).status).toBe(200);
  expect(await sluice.cli("admin-tokens", "revoke", "temp")).toMatchObject({ code: 1 });
  expect((await call("/health", token)).status).toBe(200);
  await sluice.cliJson("admin-tokens", "revoke", "temp", "--yes");
  expect((await call("/health", token)).status).toBe(401);
  expect((await bySession()).status).toBe(401);
  const listed = await sluice.cliJson<AdminTokenView[]>("admin-tokens", "list");
  expect(listed.find((each) => each.id === id)?.revoked_at).toBeString();
});

test("a label is taken once, an unknown token and the first one cannot be revoked", async () => {
  await create("twice", "viewer");
  for (const args of [
    ["create", "--label", "twice"],
    ["revoke", "nobody", "--yes"],
    ["revoke", "admin", "--yes"],
  ]) {
    const { code, stderr } = await sluice.cli("admin-tokens", ...args);
    expect(code).toBe(1);
    expect(stderr).toContain("error:");
  }
});
