import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alertKindNames, alertKinds } from "../../src/alerts/alert.ts";
import { DiskWatch } from "../../src/alerts/disk-watch.ts";
import { gatewayAlerts, storeUnavailable } from "../../src/alerts/gateway-alerts.ts";
import { limitAlerts } from "../../src/alerts/limit-alerts.ts";
import { inOrder } from "../../src/alerts/read-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { DrawnBound } from "../../src/store/store.ts";
import type { DeploymentHealth } from "../../src/upstream/upstream.ts";
import { configFor, upstreamKeys } from "../support/config.ts";
import { newFolder } from "../support/new-folder.ts";
import { deploymentHealth } from "./fixtures.ts";

const nowMs = Date.UTC(2026, 10, 18, 12);

function drawn(overrides: Partial<DrawnBound>): DrawnBound {
  return {
    bound: "balance",
    mode: "credit",
    accountId: "acc_1",
    accountLabel: null,
    keyId: "key_1",
    prefix: "slu_12345678",
    label: "ci",
    limit: 10 * nanoPerCredit,
    used: 0,
    period: "none",
    models: null,
    capNo: null,
    createdAtMs: nowMs - 90 * msPerDay,
    recentlyUsed: 0,
    ...overrides,
  };
}

test("a bound is found at 80, 95 and 100 %, never before", () => {
  const levelAt = (credits: number) =>
    limitAlerts(drawn({ used: credits * nanoPerCredit }), nowMs).map(({ level }) => level);
  expect([7.999999999, 8, 9.499999999, 9.5, 9.999999999, 10].map(levelAt)).toEqual([
    [],
    [80],
    [80],
    [95],
    [95],
    [100],
  ]);
});

test("a bound says what it is, of whom, and how much of it is used", () => {
  const [balance] = limitAlerts(drawn({ used: 8.123456 * nanoPerCredit }), nowMs);
  expect(balance?.text).toBe("Key ci has used 81% of its balance: 8.123 of 10 credits.");
  const [cap] = limitAlerts(
    drawn({ bound: "key_cap", period: "day", models: "gpt-*", capNo: 7, used: 10 * nanoPerCredit }),
    nowMs,
  );
  expect(cap).toMatchObject({
    kind: "cap_threshold",
    part: "7",
    text: "Key ci has used up its daily cap for gpt-*: 10 of 10 credits.",
    details: { level: 100, limit: 10, used: 10, resets_at: "2026-11-19T00:00:00.000Z" },
  });
  const shared = {
    keyId: null,
    label: null,
    prefix: null,
    accountLabel: "team",
    mode: "token_budget",
  } as const;
  const [budget] = limitAlerts(
    drawn({ ...shared, bound: "budget", limit: 1000, used: 990, period: "month" }),
    nowMs,
  );
  expect(budget?.text).toBe("Account team has used 99% of its monthly budget: 990 of 1000 tokens.");
  expect(budget?.subject).toEqual({ type: "account", id: "acc_1", label: "team" });
  // The cap of an account is the account's, also where one key alone draws on it.
  const [accountCap] = limitAlerts(
    drawn({ bound: "account_cap", period: "day", capNo: 8, used: 9 * nanoPerCredit }),
    nowMs,
  );
  expect(accountCap?.subject).toEqual({ type: "account", id: "acc_1", label: "acc_1" });
  const [nameless] = limitAlerts(drawn({ label: null, used: 9 * nanoPerCredit }), nowMs);
  expect(nameless?.subject).toEqual({ type: "key", id: "key_1", label: "slu_12345678" });
});

test("what lasts less than 7 days at the rate of the last ones is found, if it does not begin anew before", () => {
  const soon = (overrides: Partial<DrawnBound>) =>
    limitAlerts(drawn(overrides), nowMs)
      .filter(({ kind }) => kind === "running_out")
      .map(({ details }) => details["used_up_at"]);
  const used = 6 * nanoPerCredit;
  // 6.5 days are counted: four credits are left, and last as long as they took.
  expect(soon({ used, recentlyUsed: 4 * nanoPerCredit })).toEqual(["2026-11-25T00:00:00.000Z"]);
  expect(soon({ used, recentlyUsed: 3 * nanoPerCredit })).toEqual([]);
  // A new key is not judged by its first minute.
  const isNew = { createdAtMs: nowMs - 60_000, used: nanoPerCredit, recentlyUsed: nanoPerCredit };
  expect(soon(isNew)).toEqual([]);
  expect(soon({ ...isNew, used: 2 * nanoPerCredit, recentlyUsed: 2 * nanoPerCredit })).toHaveLength(1);
  expect(soon({ used: 10 * nanoPerCredit, recentlyUsed: nanoPerCredit })).toEqual([]);
  const weekly = { bound: "budget", mode: "token_budget", limit: 1000, used: 600, period: "week" } as const;
  expect(soon({ ...weekly, recentlyUsed: 600 })).toEqual(["2026-11-22T20:00:00.000Z"]);
  expect(soon({ ...weekly, recentlyUsed: 500 })).toEqual([]);
});

test("a gateway finds failing providers, models left out and a newer configuration, each once", () => {
  const dir = newFolder();
  const file = join(dir, "sluice.toml");
  writeFileSync(file, configFor({ url: "http://127.0.0.1:1" }));
  const { TEST_ANTHROPIC_KEY: _, ...env } = upstreamKeys;
  const { settings } = loadSettings({ file, env, cwd: dir });
  const deployments: DeploymentHealth[] = [];
  const state = {
    settings: () => settings,
    deploymentHealth: () => deployments,
    problem: () => null,
    droppedContent: () => null,
  };
  const [leftOut, ...none] = gatewayAlerts(state, 0);
  expect(none).toEqual([]);
  expect(leftOut).toMatchObject({ kind: "model_skipped", subject: { type: "model", id: "claude-test" } });
  expect(leftOut?.text).toContain("TEST_ANTHROPIC_KEY is not set");
  writeFileSync(file, configFor({ url: "http://127.0.0.1:2" }));
  const failing = { sinceMs: 5, atMs: 9, failure: "status_500", providerMessage: "out of memory" };
  deployments.push(
    deploymentHealth({ consecutiveFailures: 2, failing }),
    deploymentHealth({ name: "openai/a", consecutiveFailures: 3, failing }),
    deploymentHealth({ name: "openai/b", state: "half_open", failing: { ...failing, sinceMs: 3 } }),
    deploymentHealth({ name: "other/c", provider: "other", alarm: "billing", failing }),
    deploymentHealth({ name: "third/d", provider: "third", alarm: "status_401", failing }),
    deploymentHealth({ name: "fourth/e", provider: "fourth", state: "cooling" }),
  );
  const found = gatewayAlerts(state, 0);
  expect(found.map(({ kind, subject, sinceMs }) => [kind, subject.id, sinceMs])).toEqual([
    ["provider_failing", "openai", 3],
    ["provider_billing", "other", 5],
    ["provider_auth", "third", 5],
    ["model_skipped", "claude-test", null],
    ["config_not_loaded", file, null],
  ]);
  expect(found[0]).toMatchObject({
    text: "Provider openai is failing (openai/a, openai/b: status 500).",
    lastError: "out of memory",
  });
  // What was said with another failure is not quoted.
  expect(found[1]).toMatchObject({ kind: "provider_billing", lastError: null });
  expect(found[4]?.text).toEndWith("`sluice config reload` applies it.");
  expect(storeUnavailable(state)).toBeNull();
  rmSync(dir, { recursive: true });
});

test("a disk with less than 1 GB, or less than a day filled, is a finding before it is full", () => {
  const { settings } = loadSettings({ env: {}, cwd: newFolder() });
  let freeBytes = 100e9;
  const disk = new DiskWatch(() => freeBytes);
  const hourMs = 3_600_000;
  const kindsAt = (hour: number, free: number) => {
    freeBytes = free;
    const lowDisk = (nowMs: number) => disk.readLow(nowMs);
    const state = { settings: () => settings, deploymentHealth: () => [], problem: () => null, lowDisk };
    return gatewayAlerts(state, hour * hourMs).map(({ kind, details }) => [
      kind,
      details["day_growth_bytes"],
    ]);
  };
  expect(kindsAt(1, 100e9)).toEqual([]);
  expect(kindsAt(12, 60e9)).toEqual([]);
  expect(kindsAt(20, 49e9)).toEqual([["disk_low", 51e9]]);
  // The first 40 GB were filled more than a day ago.
  expect(kindsAt(30, 49e9)).toEqual([]);
  expect(kindsAt(60, 1e9)).toEqual([]);
  expect(kindsAt(61, 0.9e9)).toEqual([["disk_low", 0.1e9]]);
  expect(kindsAt(62, 80e9)).toEqual([]);
});

test("traces that do not reach the collector are a finding, with the reason and since when", () => {
  const { settings } = loadSettings({ env: {}, cwd: newFolder() });
  const problem = { reason: "returned 415", sinceMs: 7 };
  const state = { settings: () => settings, deploymentHealth: () => [], problem: () => null };
  expect(gatewayAlerts({ ...state, tracingProblem: () => null }, 0)).toEqual([]);
  expect(gatewayAlerts({ ...state, tracingProblem: () => problem }, 0)).toMatchObject([
    { kind: "traces_dropped", sinceMs: 7, details: { reason: "returned 415" } },
  ]);
});

test("prices that were checked more than 90 days ago are one line, with the oldest day", () => {
  const dir = newFolder();
  const file = join(dir, "sluice.toml");
  const model = (id: string, checked: string) =>
    `[[models]]\nid = "${id}"\nprovider = "o"\nmax_output_tokens = 9\nprice = { input = 1.0, output = 2.0 }\nprice_checked = "${checked}"\n`;
  const models = [model("older", "2026-07-02"), model("newer", "2026-10-30")].join("");
  writeFileSync(file, `[providers.o]\nkind = "openai"\napi_key = "env:K"\n${models}`);
  const { settings } = loadSettings({ file, env: { K: "a" }, cwd: dir });
  const state = { settings: () => settings, deploymentHealth: () => [], problem: () => null };
  const textOn = (day: string, requested = new Set(["older", "newer", "another"])) =>
    gatewayAlerts(state, Date.parse(day), requested).map(({ kind, text }) => `${kind}: ${text}`);
  expect(textOn("2026-09-30")).toEqual([]);
  expect(textOn("2026-10-01")).toEqual([
    "price_outdated: 1 price was checked more than 90 days ago, the oldest on 2026-07-02: older.",
  ]);
  expect(textOn("2027-01-31")[0]).toStartWith("price_outdated: 2 prices were checked");
  // Prices of models that are not in use do not matter.
  expect(textOn("2027-01-31", new Set())).toEqual([]);
  expect(textOn("2027-01-31", new Set(["newer"]))[0]).toEndWith(": newer.");
  rmSync(dir, { recursive: true });
});

test("findings are listed by urgency, and what several gateways have found once", () => {
  const [finding] = limitAlerts(drawn({ used: 9 * nanoPerCredit }), nowMs);
  if (finding === undefined) throw new Error("there is a finding");
  const provider = { ...finding, kind: "provider_failing", sinceMs: 20 } as const;
  const listed = inOrder([finding, provider, { ...provider, sinceMs: 10 }, { ...provider, sinceMs: 15 }]);
  expect(listed.map(({ kind, sinceMs }) => [kind, sinceMs])).toEqual([
    ["provider_failing", 10],
    ["balance_threshold", null],
  ]);
});

test("every kind has a rule for Prometheus and a line in the documentation, and nothing else has", async () => {
  const { groups } = Bun.YAML.parse(await Bun.file("config/prometheus/alerts.yml").text()) as {
    groups: { rules: { expr: string; annotations: { description: string } }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const asked = rules.flatMap(
    ({ expr }) => /sluice_alerts_active\{job="sluice",kind="(\w+)"\}/.exec(expr)?.[1] ?? [],
  );
  expect(asked).toEqual(alertKindNames);
  const documented = (await Bun.file("docs/alerts.md").text()).matchAll(
    /^\| `(\w+)` \| (.+?) \| (yes|no) \|$/gm,
  );
  expect([...documented].map(([, ...cells]) => cells)).toEqual(
    alertKindNames.map((kind) => [kind, alertKinds[kind].about, alertKinds[kind].isNeverSent ? "no" : "yes"]),
  );
});
