import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LabelValues } from "../../src/limits/label-values.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ head: '[server]\nuser_headers = ["X-OpenWebUI-User-Email", "x-second"]' });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

async function asked(
  dialect: BodyDialectName,
  more: object,
  headers: Readonly<Record<string, string>> = {},
  model = "gpt-test",
): Promise<Response> {
  const body = hello(dialect, model, dialect === "messages" ? { max_tokens: 10, ...more } : more);
  const response = await world.ask(caller, { path: paths[dialect], body, headers });
  await world.settled();
  return response;
}

async function labelsOf(response: Response) {
  const id = response.headers.get("x-request-id") ?? "";
  return (await world.running.store.reports.exchange(id, null))?.exchange?.labels;
}

describe("spend is told apart by", () => {
  const users: readonly [string, BodyDialectName, object][] = [
    ["`user` of a chat", "chat", { user: "ada" }],
    ["`user` of a response", "responses", { user: "ada" }],
    ["`safety_identifier`, which beats `user`", "responses", { safety_identifier: "ada", user: "bob" }],
    ["`metadata.user_id` of a message", "messages", { metadata: { user_id: "ada" } }],
  ];
  for (const [what, dialect, more] of users) {
    test(what, async () => {
      expect(await labelsOf(await asked(dialect, more))).toMatchObject({ user: "ada", tags: {} });
    });
  }

  test("the session, the tags, and nothing that goes up", async () => {
    const headers = { "x-session-id": "s1", "x-sluice-tags": "project=atlas, env=prod:1@a.b-c_d" };
    world.provider.reset();
    expect(await labelsOf(await asked("chat", {}, headers))).toEqual({
      fallbackFrom: null,
      steppedDownFrom: null,
      batch: null,
      owner: null,
      user: null,
      session: "s1",
      agent: null,
      parentAgent: null,
      tags: { project: "atlas", env: "prod:1@a.b-c_d" },
      affinity: "conversation",
    });
    expect(JSON.stringify(world.provider.requests[0]?.headers)).not.toContain("atlas");
  });

  test("the agent inside Claude Code and the one that started it, cleaned and bounded like the session", async () => {
    const headers = {
      "x-claude-code-session-id": "s2",
      "x-claude-code-agent-id": ` ${"a".repeat(300)} `,
      "x-claude-code-parent-agent-id": "p1",
    };
    expect(await labelsOf(await asked("messages", {}, headers))).toMatchObject({
      session: "s2",
      agent: "a".repeat(256),
      parentAgent: "p1",
    });
    const main = { "x-claude-code-session-id": "s2", "x-claude-code-agent-id": " " };
    expect(await labelsOf(await asked("messages", {}, main))).toMatchObject({
      agent: null,
      parentAgent: null,
    });
  });

  test("the key's owner as they are then, addresses without regard to case", async () => {
    const ada = await world.creditCaller(10, { owner: "Ada@Example.com" });
    const response = await world.ask(ada, { path: paths.chat, body: hello("chat", "gpt-test", {}) });
    await world.settled();
    expect(await labelsOf(response)).toMatchObject({ owner: "ada@example.com", user: null });
  });

  test("what is seen of an owner, an end user and a tag: spaces, invisible characters and Unicode's forms do not count", async () => {
    const odd = await world.creditCaller(10, { owner: " Zoe\u0308@Exam\u200bple.com" });
    const body = hello("chat", "gpt-test", { user: "\ufeff ada\u200d lo\u0301pez \u2060\u0007" });
    const headers = { "x-sluice-tags": "project=at\u00adlas\u00a0,env=prod" };
    const response = await world.ask(odd, { path: paths.chat, body, headers });
    await world.settled();
    expect(await labelsOf(response)).toMatchObject({
      owner: "zo\u00eb@example.com",
      user: "ada l\u00f3pez",
      tags: { project: "atlas", env: "prod" },
    });
  });

  test("the header where nothing of the body's user can be seen", async () => {
    const headers = { "x-sluice-user": "ben" };
    expect(await labelsOf(await asked("chat", { user: " \u200b\u0000 " }, headers))).toMatchObject({
      user: "ben",
    });
    expect(await labelsOf(await asked("chat", { user: "\u200b" }))).toMatchObject({ user: null });
  });

  const device = "d".repeat(64);
  const uuid = "1f6ad2ee-5c1b-4a58-9a6a-0e1f2d3c4b5a";
  const claudeCode: readonly [string, string, string][] = [
    ["its account", JSON.stringify({ device_id: device, account_uuid: uuid, session_id: "s" }), uuid],
    [
      "its device without one",
      JSON.stringify({ device_id: device, account_uuid: "", session_id: "s" }),
      device,
    ],
    ["its account, of older versions", `user_${device}_account_${uuid}_session_s`, uuid],
    ["its device without one, of older versions", `user_${device}_account__session_s`, `user_${device}`],
  ];
  for (const [what, name, user] of claudeCode) {
    test(`the end user of Claude Code: ${what}, not its session`, async () => {
      const answer = await asked("messages", { metadata: { user_id: name } });
      expect(await labelsOf(answer)).toMatchObject({ user });
    });
  }

  test("an end user that only looks like Claude Code's, as it is", async () => {
    for (const user of [
      '{"session_id":1}',
      "{",
      '{"session_id":"s"}',
      "user_x_account_y",
      "{".repeat(2000),
    ]) {
      const answer = await asked("messages", { metadata: { user_id: user } });
      expect(await labelsOf(answer)).toMatchObject({ user: user.slice(0, 256) });
    }
  });

  test("the end user in a header, if the body names none, which goes to no provider", async () => {
    world.provider.reset();
    const headers = { "x-sluice-user": " bob@example.com " };
    expect(await labelsOf(await asked("chat", {}, headers))).toMatchObject({ user: "bob@example.com" });
    expect(await labelsOf(await asked("chat", { user: "ada" }, headers))).toMatchObject({ user: "ada" });
    for (const request of world.provider.requests)
      expect(JSON.stringify(request.headers)).not.toContain("bob@example.com");
  });

  test("the header of a program with many users, which beats the body, from a key that is marked for it alone", async () => {
    const headers = { "x-second": " bob@example.com ", "x-sluice-tags": "a=b" };
    const by = async (from: Caller, more: Record<string, string> = {}) => {
      const body = hello("chat", "gpt-test", { user: "mallory" });
      const response = await world.ask(from, { path: paths.chat, body, headers: { ...headers, ...more } });
      await world.settled();
      return (await labelsOf(response))?.user;
    };
    world.provider.reset();
    const marked = await world.creditCaller(10, { userHeaders: true });
    expect(await by(caller)).toBe("mallory");
    expect(await by(marked)).toBe("bob@example.com");
    expect(await by(marked, { "X-Openwebui-User-Email": "ada@example.com" })).toBe("ada@example.com");
    expect(await by(marked, { "x-second": " " })).toBe("mallory");
    for (const request of world.provider.requests)
      expect(JSON.stringify(request.headers)).not.toContain("@example.com");
  });

  test("what a request says that is refused", async () => {
    const headers = { "x-sluice-tags": "project=atlas" };
    const response = await asked("chat", { user: "ada" }, headers, "no-such-model");
    expect(response.status).toBe(404);
    await waitFor(async () => (await labelsOf(response)) !== undefined, "the ending");
    expect(await labelsOf(response)).toMatchObject({ user: "ada", tags: { project: "atlas" } });
  });
});

describe("tags that are refused:", () => {
  const long = "x".repeat(65);
  const nine = Array.from({ length: 9 }, (_, index) => `t${index}=1`).join(",");
  for (const tags of [
    "",
    "project",
    "=atlas",
    "project=",
    "a=b,,c=d",
    "a=b=c",
    "a=b,a=c",
    "a b=c",
    "a=\u00e9",
    `${long}=a`,
    `a=${long}`,
    nine,
  ]) {
    for (const dialect of ["chat", "messages"] as const) {
      test(`${JSON.stringify(tags.slice(0, 40))} in ${dialect}`, async () => {
        world.provider.reset();
        const response = await asked(dialect, {}, { "x-sluice-tags": tags });
        const { error } = (await response.json()) as { error: { message: string } };
        expect([response.status, error.message]).toEqual([400, expect.stringContaining("x-sluice-tags")]);
        expect(world.provider.requests).toHaveLength(0);
      });
    }
  }

  test("eight of them pass", async () => {
    const tags = Array.from({ length: 8 }, (_, index) => `t${index}=${"v".repeat(64)}`).join(",");
    expect((await asked("chat", {}, { "x-sluice-tags": tags })).status).toBe(200);
  });
});

test("of a key's users so many are told apart on a day, and the others are counted together", async () => {
  await using small = await World.start();
  Object.assign(small.gateway, { labelValues: new LabelValues(2) });
  const asking = await small.creditCaller();
  for (const user of ["a", "b", "c", "d", "a", "c"]) {
    const body = hello("chat", "gpt-test", { user });
    expect((await small.ask(asking, { path: paths.chat, body })).status).toBe(200);
  }
  await small.settled();
  const { reports } = small.running.store;
  const rows = await reports.usageByAll(["user"], { sinceMs: 0, untilMs: Date.now() + 60_000 });
  expect(rows.map(({ groups, requests }) => [groups[0], requests])).toEqual([
    ["a", 2],
    ["b", 1],
    ["other", 3],
  ]);
  expect((await reports.exchanges({ limit: 10, labels: { user: "c" } })).rows).toHaveLength(2);
});

test("agents beyond the counted ones of a day are counted together, and each can still be found", async () => {
  await using small = await World.start();
  Object.assign(small.gateway, { labelValues: new LabelValues(2) });
  const asking = await small.creditCaller();
  for (const agent of ["a", "b", "c", "d", "a", "c"]) {
    const body = hello("messages", "gpt-test", { max_tokens: 10 });
    const headers = { "x-claude-code-agent-id": agent };
    expect((await small.ask(asking, { path: paths.messages, body, headers })).status).toBe(200);
  }
  await small.settled();
  const { reports } = small.running.store;
  const rows = await reports.usageByAll(["agent"], { sinceMs: 0, untilMs: Date.now() + 60_000 });
  expect(rows.map(({ groups, requests }) => [groups[0], requests])).toEqual([
    ["a", 2],
    ["b", 1],
    ["other", 3],
  ]);
  expect((await reports.exchanges({ limit: 10, labels: { agent: "c" } })).rows).toHaveLength(2);
});

test("a key's own tag is told apart, however many values its clients have sent", async () => {
  await using small = await World.start();
  Object.assign(small.gateway, { labelValues: new LabelValues(0) });
  const asking = await small.creditCaller(10, { tags: { customer: "acme" } });
  const headers = { "x-sluice-tags": "job=1" };
  const body = hello("chat", "gpt-test");
  expect((await small.ask(asking, { path: paths.chat, body, headers })).status).toBe(200);
  await small.settled();
  const { reports } = small.running.store;
  const rows = await reports.usageByAll(["tag:customer", "tag:job"], {
    sinceMs: 0,
    untilMs: Date.now() + 60_000,
  });
  expect(rows.map(({ groups }) => groups)).toEqual([["acme", "other"]]);
});

test("each key, day and kind of label has values of its own", () => {
  const values = new LabelValues(1);
  const day = 86_400_000;
  expect(values.isCounted("k", "user", "a", 0)).toBe(true);
  expect(values.isCounted("k", "user", "b", 0)).toBe(false);
  expect(values.isCounted("k", "session", "b", 0)).toBe(true);
  expect(values.isCounted("other", "user", "b", 0)).toBe(true);
  expect(values.isCounted("k", "tag:x", "a", 0)).toBe(true);
  expect(values.isCounted("k", "tag:y", "a", 0)).toBe(false);
  expect(values.isCounted("k", "user", "b", day)).toBe(true);
  expect(values.isCounted("k", "user", "a", day)).toBe(false);
});
