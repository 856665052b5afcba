import { expect, test } from "bun:test";
import { runningConfigView } from "../../src/admin/config/running-config.ts";
import { load, problemsOf, warningsOf } from "./fixtures.ts";

const section = '[alerts]\nurl = "env:ALERT_WEBHOOK_URL"\nsecret = "env:SIGNING"\n';
const url = "https://hooks.example.com/services/canary";

test("alerts have an address and a secret, neither of which is shown", () => {
  const { settings } = load(section, { env: { ALERT_WEBHOOK_URL: url, SIGNING: "signing-canary" } });
  expect(settings.alerts).toEqual({ url, secret: "signing-canary" });
  expect(JSON.stringify(runningConfigView(settings))).not.toContain("canary");
  expect(runningConfigView(settings)).toMatchObject({ alerts: { url: "********", secret: "********" } });
  expect(load("").settings.alerts).toBeNull();
  const unsigned = load('[alerts]\nurl = "env:ALERT_WEBHOOK_URL"', { env: { ALERT_WEBHOOK_URL: url } });
  expect(unsigned.settings.alerts).toEqual({ url, secret: null });
});

test("alerts are off, with a warning, if the address or the secret is not set", () => {
  for (const [env, missing] of [
    [{ SIGNING: "x" }, "ALERT_WEBHOOK_URL"],
    [{ ALERT_WEBHOOK_URL: url }, "SIGNING"],
  ] as const) {
    expect(load(section, { env }).settings.alerts).toBeNull();
    expect(warningsOf(section, { env })).toContain(`alerts are off: ${missing} is not set`);
  }
});

test("an address in plain text, or none of the web, is refused without being repeated", () => {
  const plain = problemsOf(`[alerts]\nurl = "${url}"`);
  expect(plain).toEqual([expect.stringContaining("alerts.url: secrets are not allowed in this file")]);
  const other = problemsOf('[alerts]\nurl = "env:ALERT_WEBHOOK_URL"', {
    env: { ALERT_WEBHOOK_URL: "ftp://canary" },
  });
  expect(other).toEqual(["alerts.url: must be an address that begins with http:// or https://"]);
  expect(problemsOf("[alerts]")).toHaveLength(1);
});
