import { expect, test } from "bun:test";
import { runningConfigView } from "../../src/admin/config/running-config.ts";
import { load, problemsOf, warningsOf } from "./fixtures.ts";

const section = '[feed]\nurl = "env:FEED_URL"\nsecret = "env:SIGNING"\n';
const url = "https://billing.example.com/sluice/canary";
const env = { FEED_URL: url, SIGNING: "signing-canary" };

test("the feed has an address, a secret and a beginning, and the first two are never shown", () => {
  const since = load(`${section}since = "2026-10-31"`, { env }).settings;
  expect(since.feed).toEqual({ url, secret: "signing-canary", sinceMs: Date.UTC(2026, 9, 31) });
  expect(JSON.stringify(runningConfigView(since))).not.toContain("canary");
  expect(runningConfigView(since)).toMatchObject({
    feed: { url: "********", secret: "********", since: "2026-10-31T00:00:00.000Z" },
  });
  expect(load("").settings.feed).toBeNull();
  expect(load(section, { env }).settings.feed).toMatchObject({ sinceMs: null });
  for (const time of ["2026-10-31T15:00", "2026-10-31T15:00:00Z"])
    expect(load(`${section}since = "${time}"`, { env }).settings.feed?.sinceMs).toBe(
      Date.UTC(2026, 9, 31, 15),
    );
});

test("the feed is not pushed, with a warning, if the address or the secret is not set", () => {
  for (const missing of ["FEED_URL", "SIGNING"] as const) {
    const rest = { ...env, [missing]: undefined };
    expect(load(section, { env: rest }).settings.feed).toBeNull();
    expect(warningsOf(section, { env: rest })).toContain(`the feed is not pushed: ${missing} is not set`);
  }
});

test("a wrong address or time is rejected with what to write instead", () => {
  const plain = problemsOf(`[feed]\nurl = "${url}"`);
  expect(plain).toEqual([expect.stringContaining("feed.url: secrets are not allowed in this file")]);
  expect(problemsOf('[feed]\nurl = "env:FEED_URL"', { env: { FEED_URL: "ftp://canary" } })).toEqual([
    "feed.url: must be an address that begins with http:// or https://",
  ]);
  for (const since of ["yesterday", "2026-13-01", "2026-02-31", "2026-10-31 15:00"])
    expect(problemsOf(`${section}since = "${since}"`, { env })).toEqual([
      expect.stringContaining("such as 2026-10-31"),
    ]);
});
