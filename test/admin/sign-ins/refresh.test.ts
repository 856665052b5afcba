import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { readAlerts } from "../../../src/alerts/read-alerts.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { memberKeys, SignInWorld } from "./fixtures.ts";

describe("a refresh token", () => {
  test("gives a new pair, and the former access token lives to its own end", async () => {
    await using world = await SignInWorld.start();
    const first = await world.signIn();
    world.admin.clock.advance(50 * 60_000);
    const second = await world.refresh(first.refresh_token);
    expect(second).toMatchObject({ status: 200, token_type: "Bearer", expires_in: 3600 });
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(world.keyOf(first.access_token)).not.toBeNull();
    expect(world.keyOf(second.access_token ?? "")).not.toBeNull();
    world.admin.clock.advance(10 * 60_000);
    expect(world.keyOf(first.access_token)).toBeNull();
    expect(world.keyOf(second.access_token ?? "")).not.toBeNull();
    expect(await world.audited()).toEqual(["sign_in.begin"]);
  });

  test("gets the same answer again within a minute, however many send it at once", async () => {
    await using world = await SignInWorld.start();
    const { refresh_token: token } = await world.signIn();
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.refresh(token)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    world.admin.clock.advance(60_000);
    const late = await world.refresh(token);
    expect(late).toEqual({ ...answers[0], status: 200, expires_in: 3540 } as typeof late);
    const next = await world.refresh(late.refresh_token ?? "");
    expect(next.status).toBe(200);
  });

  test("ends the sign-in if it comes back later, with everything that was issued since", async () => {
    await using world = await SignInWorld.start();
    const [stolen, other] = [await world.signIn(), await world.signIn()];
    const second = await world.refresh(stolen.refresh_token);
    world.admin.clock.advance(60_001);
    expect(await world.refresh(stolen.refresh_token, "203.0.113.9")).toMatchObject({
      status: 400,
      error: "invalid_grant",
    });
    expect(await world.refresh(second.refresh_token ?? "")).toMatchObject({ error: "invalid_grant" });
    expect(world.keyOf(second.access_token ?? "")).toBeNull();
    expect(world.keyOf(other.access_token)).not.toBeNull();
    const audit = await world.admin.store.admin.listAudit({ limit: 2 });
    expect(audit).toMatchObject([
      { action: "sign_in.end", detail: expect.stringContaining("used twice") },
      { action: "sign_in.reuse", address: "203.0.113.9", detail: expect.stringContaining("bob@example.com") },
    ]);
    const { store, clock } = world.admin;
    const { active } = await readAlerts(store, clock.wallMs());
    expect(active).toMatchObject([{ kind: "sign_in_reused", details: { sign_ins: 1 } }]);
    world.admin.clock.advance(25 * 3_600_000);
    expect((await readAlerts(store, clock.wallMs())).active).toEqual([]);
  });

  test("ends the sign-in if it comes back within the minute after its successor was used", async () => {
    await using world = await SignInWorld.start();
    const first = await world.signIn();
    const second = await world.refresh(first.refresh_token);
    await world.refresh(second.refresh_token ?? "");
    expect(await world.refresh(first.refresh_token)).toMatchObject({ error: "invalid_grant" });
    expect(await world.open()).toEqual([]);
  });

  test("is guessed five times from one address, and a right one always works", async () => {
    await using world = await SignInWorld.start();
    const { refresh_token: token } = await world.signIn();
    const guesses: number[] = [];
    for (let guess = 0; guess < 8; guess += 1)
      guesses.push((await world.refresh(`slr_${"x".repeat(59)}${guess}`)).status);
    expect(guesses).toEqual([400, 400, 400, 400, 400, 429, 429, 429]);
    expect((await world.refresh(token)).status).toBe(200);
    // A part of a real token does not end a sign-in.
    expect((await world.refresh(`${token.slice(0, 33)}x${"y".repeat(30)}`, "192.0.2.9")).status).toBe(400);
    expect(await world.open()).toHaveLength(1);
  });

  test("is not renewed more than sixty times a minute", async () => {
    await using world = await SignInWorld.start();
    let { refresh_token: token } = await world.signIn();
    for (let number = 0; number < 60; number += 1) token = (await world.refresh(token)).refresh_token ?? "";
    const tooMany = await world.send("/oauth/token", { grant_type: "refresh_token", refresh_token: token });
    expect([tooMany.status, tooMany.headers.get("retry-after")]).toEqual([429, "1"]);
    expect((await world.open())[0]?.access).toHaveLength(50);
  });

  test("is stored as a hash alone, and its answer encrypted", async () => {
    await using world = await SignInWorld.start();
    const first = await world.signIn();
    const second = await world.refresh(first.refresh_token);
    using folder = temporaryFolder();
    const file = join(folder.dir, "copy.db");
    await world.admin.store.files?.backup(file);
    using opened = new Database(file, { readonly: true });
    const rows = JSON.stringify(opened.query("SELECT * FROM sign_ins").all());
    for (const token of [first, second].flatMap((each) => [each.access_token, each.refresh_token]))
      expect(rows).not.toContain(String(token).slice(4, 30));
  });

  test("cannot be sent in more than 4 KB, and its answer is not cached or shared with other sites", async () => {
    await using world = await SignInWorld.start(memberKeys);
    const big = await world.send("/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: "x".repeat(5000),
    });
    expect(big.status).toBe(413);
    const answer = await world.send("/oauth/token", { grant_type: "refresh_token", refresh_token: "x" });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});
