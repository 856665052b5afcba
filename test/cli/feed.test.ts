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
    [["list", "--limit", "1001"], 2, "Must be at most 1000."],
    [["list", "--after", "1.AAAAAAAAAAAAAAAA"], 1, "matches no entry of this ledger"],
    [
      [...through, "--total", "1e3"],
      2,
      "Use an amount of credits with at most nine decimals, such as -12.5.",
    ],
    [[...through, "--total", "5"], 1, "`through` matches no entry of this ledger"],
    [["verify", "--count", "-1"], 2, "Must be a whole number"],
  ];
  for (const [argv, code, text] of cases) {
    const [given, stderr] = await said(...argv);
    expect([given, stderr.includes(text) ? text : stderr]).toEqual([code, text]);
  }
});
