import { expect, test } from "bun:test";
import type { FeedView, VerifyView } from "../../src/admin/feed/schema.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("what a reader has is verified, and a difference is exit status 1 with both", async () => {
  const place = newPlace();
  await sluiceJson(place, "keys", "create", "--mode", "credit", "--credit", "5", "--label", "chat");
  await sluiceJson(place, "keys", "create", "--mode", "credit", "--credit", "0.25");
  const { data, next_cursor: cursor } = await sluiceJson<FeedView>(place, "ledger", "feed", "list");
  expect(data.map(({ credits, key_label }) => [credits, key_label])).toEqual([
    ["5", "chat"],
    ["0.25", null],
  ]);
  const verify = (...more: string[]) =>
    sluice(place, "ledger", "feed", "verify", "--through", cursor ?? "", ...more);
  const right = await verify("--count", "2", "--total", "5.25");
  expect([right.code, right.stdout]).toEqual([
    0,
    `✓ you have all of 2 entries, 5.25 credits through ${cursor}\n`,
  ]);
  const wrong = await verify("--count", "1", "--total", "-5");
  expect([wrong.code, wrong.stdout]).toEqual([
    1,
    `✗ you have 1 entry, -5 credits; the ledger has 2 entries, 5.25 credits through ${cursor}\n`,
  ]);
  const asJson = await verify("--count", "2", "--total", "5", "--json");
  expect(asJson.code).toBe(1);
  expect(JSON.parse(asJson.stdout) as VerifyView).toEqual({
    ok: false,
    given: { count: 2, total: "5" },
    ledger: { count: 2, total: "5.25" },
  });
  const since = await verify("--since", "2026-01", "--count", "2", "--total", "5.25");
  expect(since.code).toBe(0);
  const [first] = data;
  const rest = await verify("--after", first?.cursor ?? "", "--count", "1", "--total", "0.25");
  expect(rest.code).toBe(0);
  const csv = await sluice(place, "ledger", "feed", "list", "--after", first?.cursor ?? "", "--csv");
  expect(csv.stdout.split("\n")[1]).toContain(`,0.25,credits,0.25,${cursor}`);
});

test("nonsense is rejected with what to write instead", async () => {
  const place = newPlace();
  await sluiceJson(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const said = async (...argv: string[]) => {
    const { code, stderr } = await sluice(place, "ledger", "feed", ...argv);
    return [code, stderr] as const;
  };
  const through = ["verify", "--through", "1.AAAAAAAAAAAAAAAA", "--count", "1"];
  const cases: readonly (readonly [argv: string[], code: number, text: string])[] = [
    [["list", "--after", "yesterday"], 2, "Use a cursor of the feed, such as 12.vOq0yX6mJc2dQf1K."],
    [["list", "--since", "soon"], 2, "such as 7d or 24h"],
    [["list", "--since", "7d", "--after", "1.AAAAAAAAAAAAAAAA"], 1, "Pass `--after` or `--since`, not both"],
    [["list", "--limit", "1001"], 2, "Must be a whole number from 1 to 1000."],
    [["list", "--after", "1.AAAAAAAAAAAAAAAA"], 1, "matches no entry of this ledger"],
    [
      [...through, "--total", "1e3"],
      2,
      "Use an amount of credits with at most nine decimals, such as -12.5.",
    ],
    [[...through, "--total", "5"], 1, "`--through` matches no entry of this ledger"],
    [["verify", "--count", "-1"], 2, "Must be a whole number"],
  ];
  for (const [argv, code, text] of cases) {
    const [given, stderr] = await said(...argv);
    expect([given, stderr.includes(text) ? text : stderr]).toEqual([code, text]);
  }
});

test("after a restore the cursors of the backup are valid, and later ones are rejected", async () => {
  const place = newPlace();
  const topUp = (credit: string) =>
    sluiceJson(place, "keys", "create", "--mode", "credit", "--credit", credit);
  const cursors = async () => {
    const { data } = await sluiceJson<FeedView>(place, "ledger", "feed", "list");
    return data.map(({ cursor }) => cursor);
  };
  await topUp("5");
  await sluiceJson(place, "backup", "ledger.db");
  await topUp("7");
  const [kept, undone] = await cursors();
  await sluiceJson(place, "restore", "ledger.db", "--yes");
  await topUp("9");
  const [first, second] = await cursors();
  expect(first).toBe(kept as string);
  // The same id, and another entry.
  expect(second?.split(".")[0]).toBe(undone?.split(".")[0] as string);
  expect(second).not.toBe(undone as string);
  const after = (cursor = "") => sluice(place, "ledger", "feed", "list", "--after", cursor, "--csv");
  expect((await after(kept)).stdout).toContain(`,9,credits,9,${second}`);
  const rejected = await after(undone);
  expect([rejected.code, rejected.stderr]).toEqual([
    1,
    expect.stringContaining("a restore has undone its entry. Use the cursor of an earlier entry."),
  ]);
});
