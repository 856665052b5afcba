import { expect, test } from "bun:test";
import type { CapByValueView, CapDetailView } from "../../../src/admin/caps/schema.ts";
import type { ErrorView } from "../../../src/admin/formats/shapes.ts";
import type { IssuedKeyView } from "../../../src/admin/key-terms/schema.ts";
import { type AdminServer, startAdmin } from "./fixtures.ts";

async function refused(admin: AdminServer, path: string, body: unknown, method = "POST"): Promise<string> {
  const response = await admin.call(path, { method, body: JSON.stringify(body) });
  const { error } = (await response.json()) as ErrorView;
  return `${response.status} ${error.message}`;
}

test("caps by value are added, listed, shown, changed, raised and removed, each with a line in the audit log", async () => {
  await using admin = await startAdmin();
  const key = await admin.post<IssuedKeyView>("/keys", {
    mode: "credit",
    credit: 10,
    owner: "Ada@example.com",
  });
  const added = await admin.post<CapDetailView>("/caps", { limit: 20, period: "day", each: "owner" });
  expect(added).toMatchObject({
    limit: 20,
    period: "day",
    models: null,
    mode: "credit",
    each: "owner",
    owner: null,
    key: null,
    account: null,
    values: 10_000,
    used_by: [],
  });
  expect(added.id).toStartWith("cap_");
  const fixed = await admin.post<CapDetailView>("/caps", {
    limit: 60,
    period: "day",
    owner: "ADA@example.com",
  });
  expect(fixed).toMatchObject({ each: null, owner: "ada@example.com" });
  const inKey = { limit: 0.5, period: "day", each: "user", key: key.prefix, values: 100 };
  expect(await admin.post<CapDetailView>("/caps", inKey)).toMatchObject({ key: key.id, values: 100 });
  const project = { limit: 500, period: "month", tag: "project=atlas", models: "claude-*" };
  expect(await admin.post<CapDetailView>("/caps", project)).toMatchObject({ tag: "project=atlas" });
  const { data } = await admin.json<{ data: CapByValueView[] }>("/caps");
  expect(data.map(({ limit, each }) => [limit, each])).toEqual([
    [20, "owner"],
    [60, null],
    [0.5, "user"],
    [500, null],
  ]);
  const changed = await admin.json<CapDetailView>(`/caps/${added.id}`, {
    method: "PATCH",
    body: JSON.stringify({ limit: 30, period: "week" }),
  });
  expect(changed).toMatchObject({ limit: 30, period: "week" });
  const raise = { amount: 5, value: "ben", note: "release week" };
  await admin.post<CapDetailView>(`/caps/${added.id}/raise`, raise);
  expect(await admin.post<CapDetailView>(`/caps/${fixed.id}/raise`, { amount: 1, note: "x" })).toMatchObject({
    limit: 60,
  });
  await admin.json<CapDetailView>(`/caps/${fixed.id}`, { method: "DELETE" });
  expect((await admin.call(`/caps/${fixed.id}`)).status).toBe(404);
  const rows = await admin.store.admin.listAudit({ limit: 100 });
  expect(rows.map(({ action }) => action).filter((action) => action.startsWith("cap."))).toEqual([
    ...["cap.remove", "cap.raise", "cap.raise", "cap.update"],
    ...["cap.add", "cap.add", "cap.add", "cap.add"],
  ]);
});

test("a cap that cannot be is rejected with what to do, and nothing is added", async () => {
  await using admin = await startAdmin();
  const day = { limit: 1, period: "day" };
  const key = await admin.post<IssuedKeyView>("/keys", { mode: "token_budget", budget_tokens: 100 });
  const rejected: readonly (readonly [object, string])[] = [
    [[], "The body must be an object"],
    [day, "exactly one of"],
    [{ ...day, each: "owner", user: "ada" }, "exactly one of"],
    [{ ...day, each: "session" }, "`each` must be owner, user or tag:NAME"],
    [{ ...day, each: "tag:" }, "`each` must be owner, user or tag:NAME"],
    [{ ...day, each: `tag:${"x".repeat(65)}` }, "a string of 1 to 68 characters"],
    [{ ...day, each: "tag:a b" }, "`each` must be owner, user or tag:NAME"],
    [{ ...day, tag: "project" }, "NAME=VALUE"],
    [{ ...day, tag: "a=b=c" }, "NAME=VALUE"],
    [{ ...day, user: "a\0b" }, "NUL"],
    [{ ...day, owner: "a\0b" }, "NUL"],
    [{ ...day, user: "x".repeat(1_000_000) }, ""],
    [{ ...day, user: "x".repeat(257) }, "`user` must be a string of 1 to 256 characters"],
    [{ ...day, owner: "" }, "owner"],
    [{ ...day, each: "user" }, "or `optional`"],
    [{ ...day, each: "owner", optional: true }, "remove `optional`"],
    [{ ...day, user: "ada", optional: true }, "`optional` is only for caps that count each value"],
    [{ ...day, user: "ada", values: 3 }, "`values` is only for caps that count each value"],
    [{ ...day, each: "owner", values: 10_001 }, "values"],
    [{ ...day, each: "owner", values: 0 }, "values"],
    [{ ...day, each: "owner", values: 1.5 }, "values"],
    [{ ...day, each: "owner", limit: 0 }, "limit"],
    [{ ...day, each: "owner", limit: -1 }, "limit"],
    [{ ...day, each: "owner", limit: 1e12 }, "at most"],
    [{ ...day, each: "owner", limit: 1e-10 }, "decimals"],
    [{ ...day, each: "owner", period: "year" }, "period"],
    [{ ...day, each: "owner", models: "a b" }, "pattern"],
    [{ ...day, each: "owner", key: "slu_nothing", account: "acc_1" }, "not both"],
    [{ ...day, each: "owner", key: "key_nothing" }, "key"],
    [{ ...day, each: "owner", account: "nothing" }, "account"],
    [{ ...day, each: "owner", key: key.id, mode: "credit" }, "remove `mode`"],
    [{ ...day, each: "owner", key: key.id, limit: 0.5 }, "whole number"],
    [{ ...day, each: "owner", mode: "euros" }, "mode"],
    [{ ...day, each: "owner", colour: "red" }, "colour"],
    [{ each: "owner" }, "limit"],
  ];
  for (const [body, message] of rejected) {
    const answer = await refused(admin, "/caps", body);
    expect(answer).toMatch(/^4\d\d /);
    expect(answer.toLowerCase()).toContain(message.toLowerCase());
    expect(answer.length).toBeLessThan(300);
  }
  expect((await admin.json<{ data: CapByValueView[] }>("/caps")).data).toEqual([]);
  const { id } = await admin.post<CapDetailView>("/caps", { ...day, each: "owner" });
  const one = await admin.post<CapDetailView>("/caps", { ...day, owner: "ada" });
  expect(await refused(admin, "/caps", { ...day, limit: 9, each: "owner" })).toContain(
    `${id}, already limits the same`,
  );
  expect(await refused(admin, `/caps/${id}`, {}, "PATCH")).toContain("Nothing to change; pass `limit`");
  expect(await refused(admin, `/caps/${one.id}`, { values: 3 }, "PATCH")).toMatch(/`values` is only for/);
  expect(await refused(admin, "/caps/cap_nothing", { limit: 3 }, "PATCH")).toMatch(
    /cap cap_nothing does not exist/i,
  );
  expect(await refused(admin, "/caps/cap_nothing", {}, "DELETE")).toMatch(/cap cap_nothing does not exist/i);
  expect((await refused(admin, `/caps/${"c".repeat(9000)}`, {}, "DELETE")).length).toBeLessThan(200);
  expect(await refused(admin, `/caps/${id}/raise`, { amount: 1 })).toContain("note");
  expect(await refused(admin, `/caps/${id}/raise`, { amount: 1, note: " " })).toMatch(/needs a note/);
  expect(await refused(admin, `/caps/${id}/raise`, { amount: 0, note: "x" })).toContain("amount");
  expect(await refused(admin, `/caps/${id}/raise`, { amount: 1, value: "a\0b", note: "x" })).toContain("NUL");
  expect(await refused(admin, `/caps/${one.id}/raise`, { amount: 1, value: "ben", note: "x" })).toContain(
    "ada only",
  );
  expect((await admin.json<{ data: CapByValueView[] }>("/caps")).data).toHaveLength(2);
});

test("a cap can name the model that runs beyond it, and later another one, or none", async () => {
  await using admin = await startAdmin();
  const big = { limit: 40, period: "month", models: "gpt-*", each: "owner" };
  const added = await admin.post<CapDetailView>("/caps", { ...big, then: "local-test", then_always: true });
  expect(added).toMatchObject({ then: "local-test", then_always: true });
  const change = (body: object) =>
    admin.json<CapDetailView>(`/caps/${added.id}`, { method: "PATCH", body: JSON.stringify(body) });
  expect(await change({ then: "claude-test" })).toMatchObject({ then: "claude-test", then_always: true });
  expect(await change({ then_always: false })).toMatchObject({ then: "claude-test", then_always: false });
  expect(await change({ limit: 50 })).toMatchObject({ limit: 50, then: "claude-test" });
  await change({ then_always: true });
  expect(await change({ then: null })).toMatchObject({ then: null, then_always: false });
  const plain = await admin.post<CapDetailView>("/caps", { ...big, period: "day" });
  expect(plain).toMatchObject({ then: null, then_always: false });
  const rows = await admin.store.admin.listAudit({ limit: 100 });
  expect(rows.map(({ detail }) => detail)).toContain("40/month:gpt-* each owner, then local-test always");
});

test("a cap cannot step down to a model that does not exist, to one that it limits, or in a circle", async () => {
  await using admin = await startAdmin();
  const each = { limit: 40, period: "month", models: "gpt-*", each: "owner" };
  const rejected: readonly (readonly [object, string])[] = [
    [{ ...each, then: "local-tset" }, 'model "local-tset" does not exist, did you mean "local-test"?'],
    [{ ...each, then: "x".repeat(129) }, "then"],
    [{ ...each, then: "" }, "then"],
    [{ ...each, then: 3 }, "then"],
    [{ ...each, then_always: true }, "`then_always` needs `then`"],
    [{ ...each, then: "local-test", then_always: "yes" }, "then_always"],
    [{ ...each, then: "gpt-test" }, "is itself one of the models gpt-*"],
    [{ ...each, models: null, then: "local-test" }, "limit a pattern"],
  ];
  for (const [body, message] of rejected) {
    const answer = await refused(admin, "/caps", body);
    expect(answer).toMatch(/^4\d\d /);
    expect(answer.toLowerCase()).toContain(message.toLowerCase());
  }
  const { id } = await admin.post<CapDetailView>("/caps", { ...each, then: "local-test" });
  const back = { limit: 1, period: "day", models: "local-*", owner: "ada", then: "gpt-test" };
  expect(await refused(admin, "/caps", back)).toMatch(
    /^400 .*in a circle: from gpt-test, cap_\w+ switches to local-test, which this cap on local-\* limits/,
  );
  const one = await admin.post<CapDetailView>("/caps", { ...back, then: "claude-test" });
  expect(await refused(admin, `/caps/${one.id}`, { then: "gpt-test" }, "PATCH")).toContain("in a circle");
  expect(await refused(admin, `/caps/${id}`, { models: "l*" }, "PATCH")).toContain("is itself one");
  expect(await refused(admin, `/caps/${id}`, { models: "*" }, "PATCH")).toContain("limit a pattern");
  expect(await refused(admin, `/caps/${id}`, { models: null }, "PATCH")).toContain("limit a pattern");
  expect(await admin.json<CapDetailView>(`/caps/${one.id}`)).toMatchObject({ then: "claude-test" });
});

test("owners, end users and tags are stored as they are compared", async () => {
  await using admin = await startAdmin();
  const odd = " Zoe\u0308@exam\u200bple.com ";
  const key = await admin.post<IssuedKeyView>("/keys", {
    mode: "credit",
    owner: odd,
    tags: { " project": "at\u200blas " },
  });
  expect(key).toMatchObject({ owner: "Zo\u00eb@example.com", tags: { project: "atlas" } });
  const update = { method: "PATCH", body: JSON.stringify({ owner: "\u2060Ben\n" }) };
  expect(await admin.json<object>(`/keys/${key.id}`, update)).toMatchObject({ owner: "Ben" });
  for (const [named, value] of [
    [{ owner: odd }, { owner: "zo\u00eb@example.com" }],
    [{ user: " a\u0301da\u200b" }, { user: "\u00e1da" }],
    [{ tag: " project=at\u200blas" }, { tag: "project=atlas" }],
  ] as const) {
    expect(await admin.post<CapDetailView>("/caps", { limit: 5, period: "day", ...named })).toMatchObject(
      value,
    );
  }
  expect(await refused(admin, "/caps", { limit: 5, period: "day", owner: "\u200b" })).toStartWith("400");
});
