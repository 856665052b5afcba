import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyView } from "../../src/admin/key-terms/schema.ts";
import type { AlertView } from "../../src/admin/system/alert-schema.ts";
import { alertDocument } from "../../src/admin/system/list-alerts.ts";
import { type Alert, type AlertKind, alertKindNames } from "../../src/alerts/alert.ts";
import { openAiError } from "../support/answers.ts";
import { configFor, upstreamKeys } from "../support/config.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("status lists what needs attention, without a gateway too", async () => {
  const place = newPlace();
  await sluice(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const calm = await sluice(place, "status", "--check");
  expect([calm.code, calm.stdout]).toEqual([0, "✓ no active alerts\n"]);
  const create = ["keys", "create", "--mode", "credit", "--label", "trial", "--expires", "2d"];
  const { id } = await sluiceJson<KeyView>(place, ...create);
  expect(await sluiceJson<AlertView[]>(place, "status")).toMatchObject([
    {
      kind: "key_expiring",
      severity: "warning",
      subject: { type: "key", id, label: "trial" },
      level: null,
      next: `sluice keys update ${id} --expires 30d`,
    },
  ]);
  expect((await sluice(place, "status", "--check")).code).toBe(1);
  const { code, stdout } = await sluice(place, "status");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/warning +key_expiring +Key trial expires at /)]);
  expect(stdout).toContain(`sluice keys update ${id} --expires 30d`);
  expect((await sluice(place, "keys", "update", id, "--expires", "30d")).code).toBe(0);
  expect((await sluice(place, "status", "--check")).code).toBe(0);
});

test("an acknowledged alert is listed with who has seen it, and fails no check", async () => {
  const place = newPlace();
  await sluice(place, "keys", "create", "--mode", "credit", "--label", "trial", "--expires", "2d");
  expect((await sluice(place, "status", "--check")).code).toBe(1);
  const misspelled = await sluice(place, "alerts", "ack", "key_expirin", "--until", "30d");
  expect([misspelled.code, misspelled.stderr]).toEqual([2, expect.stringContaining("key_expiring")]);
  const past = await sluice(place, "alerts", "ack", "key_expiring", "--until", "2020-01-01");
  expect([past.code, past.stderr]).toEqual([2, expect.stringContaining("in the future")]);
  expect((await sluice(place, "alerts", "ack", "key_expiring", "--until", "30d")).code).toBe(0);
  const [alert] = await sluiceJson<AlertView[]>(place, "status");
  const { by = "", until = "" } = alert?.acknowledged ?? {};
  expect(by).not.toBe("");
  expect(Math.round((Date.parse(until) - Date.now()) / 86_400_000)).toBe(30);
  expect((await sluice(place, "status", "--check")).code).toBe(0);
  expect((await sluice(place, "status")).stdout).toContain(`Acknowledged by ${by} until`);
  const log = await sluiceJson<{ action: string; target: string }[]>(place, "audit-log");
  expect(log).toContainEqual(expect.objectContaining({ action: "alerts.ack", target: "key_expiring" }));
});

test("a test of alerts is refused while they are off, and while the hook cannot be reached", async () => {
  const env = { ALERT_WEBHOOK_URL: "http://127.0.0.1:1/hook-canary" };
  const place = newPlace({ env });
  const off = await sluice(place, "alerts", "test");
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining("alerts are off")]);
  writeFileSync(join(place.folder, "sluice.toml"), '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"');
  const away = await sluice(place, "alerts", "test");
  expect([away.code, away.stderr]).toEqual([
    1,
    expect.stringContaining("the webhook cannot be reached (ECONNREFUSED)"),
  ]);
  expect(away.stderr).not.toContain("hook-canary");
});

test("each kind has a severity, and a next command that there is", async () => {
  const place = newPlace();
  const finding = (kind: AlertKind, level: number | null = null): Alert => ({
    kind,
    subject: { type: "key", id: "key_1", label: "ci" },
    level,
    sinceMs: null,
    text: "",
    details: {},
    lastError: null,
  });
  for (const kind of alertKindNames) {
    const { severity, next } = alertDocument(finding(kind));
    expect(["critical", "warning", "info"]).toContain(severity);
    // A clock is set with the system's own command.
    if (kind.startsWith("clock_")) continue;
    const [program, ...words] = next.split(" ");
    const option = words.findIndex((word) => word.startsWith("-"));
    const command = words.slice(0, option < 0 ? words.length : option).filter((word) => !/\d/.test(word));
    const help = await sluice(place, ...command, "--help");
    expect([program, next, help.code]).toEqual(["sluice", next, 0]);
    expect(help.stdout).toContain(`Usage: sluice ${command.join(" ")}`);
  }
  const severityAt = (kind: AlertKind, level: number | null) => alertDocument(finding(kind, level)).severity;
  expect([
    severityAt("cap_threshold", 95),
    severityAt("cap_threshold", 100),
    severityAt("running_out", null),
  ]).toEqual(["warning", "critical", "info"]);
  const account = {
    ...finding("balance_threshold", 80),
    subject: { type: "account", id: "acc_1", label: "team" },
  } as const;
  expect(alertDocument(account).next).toBe("sluice accounts show acc_1");
});

test("status is right at once after a provider fails, and after its gateway is gone", async () => {
  const provider = startProvider(openAiError(401, "bad key"));
  await using gateway = await Sluice.start({ config: configFor({ url: provider.url }), env: upstreamKeys });
  const key = await gateway.createKey();
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
  expect((await gateway.request("/v1/chat/completions", { key, body })).status).toBe(502);
  // The gateway checks every five seconds by itself.
  const alerts = await gateway.cliJson<AlertView[]>("status");
  expect(alerts.map(({ kind }) => kind)).toContain("provider_auth");
  await gateway.kill9();
  const { code, stderr } = await gateway.cli("status", "--check");
  expect([code, stderr]).toEqual([1, expect.stringContaining("no gateway runs on ")]);
  provider.stop();
});
