import { expect, test } from "bun:test";
import { actorName } from "../../../src/admin/access/actor.ts";
import type { Page } from "../../../src/admin/formats/shapes.ts";
import type { AuditView } from "../../../src/admin/system/schema.ts";
import { adminBase } from "../../../src/base/requests/admin-base.ts";
import { signIn, startAdmin } from "../routes/fixtures.ts";

test("two sessions have two names, each the same every time, and none tells the session's id", () => {
  const [one, two] = ["first-session-id", "second-session-id"];
  expect(actorName(one)).toBe(actorName(one));
  expect(actorName(one)).not.toBe(actorName(two));
  expect(actorName(one)).toMatch(/^session [0-9a-f]{8}$/);
  expect(actorName(null)).toBe("token");
});

test("the audit log names the session from its sign-in on", async () => {
  await using admin = await startAdmin();
  const cookie = await signIn(admin);
  const headers = { cookie, origin: admin.url };
  const body = JSON.stringify({ mode: "credit" });
  expect((await fetch(`${admin.url}${adminBase}/keys`, { method: "POST", body, headers })).status).toBe(200);
  const { data } = await admin.json<Page<AuditView>>("/audit");
  expect(data.map(({ action }) => action)).toEqual(["key.create", "session.begin"]);
  expect(new Set(data.map(({ actor }) => actor)).size).toBe(1);
  expect(data[0]?.actor).toMatch(/^session [0-9a-f]{8}$/);
  expect(data[0]?.address).toBe("127.0.0.1");
});
