import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import dashboard from "../../config/grafana/sluice.json";
import { Metrics } from "../../src/observe/metrics.ts";
import { newFolder } from "../support/new-folder.ts";
import { exchangeFacts, gauges, rejectedAttempt } from "./fixtures.ts";

const promtool = Bun.which("promtool");
const alertsFile = resolve("config/prometheus/alerts.yml");

/** Samples of scrapes as Prometheus stores them, a minute apart. */
function seriesOf(job: string, scrapes: readonly string[]) {
  const values = new Map<string, string[]>();
  scrapes.forEach((text, minute) => {
    for (const [, name = "", labels = "", value = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const all = [`job="${job}"`, 'instance="gw:9464"', ...(labels === "" ? [] : [labels])].join(",");
      values.getOrInsertComputed(`${name}{${all}}`, () => Array(minute).fill("_"))[minute] = value;
    }
  });
  return [...values].map(([series, samples]) => ({ series, values: samples.join(" ") }));
}

function runPromtool(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? "", ...args]);
  return { exitCode, output: `${stdout}${stderr}` };
}

function testRules(tests: readonly object[]) {
  const folder = newFolder();
  const file = join(folder, "test.json");
  writeFileSync(file, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: "1m", tests }));
  const result = runPromtool("test", "rules", file);
  rmSync(folder, { recursive: true });
  return result;
}

const fires = (alertname: string, at: string, exp_alerts: readonly object[]) => ({
  alertname,
  eval_time: at,
  exp_alerts,
});

const skipped = promtool === null ? "SKIPPED: promtool is not installed: " : "";

test.skipIf(promtool === null)(`${skipped}Prometheus accepts the shipped configuration and rules`, () => {
  const { exitCode, output } = runPromtool("check", "config", "config/prometheus/prometheus.yml");
  expect(output).toContain("rules found");
  expect(exitCode).toBe(0);
});

test.skipIf(promtool === null)(`${skipped}Prometheus can parse every query of the dashboard`, () => {
  const targets = dashboard.panels.flatMap((panel) => ("targets" in panel ? (panel.targets ?? []) : []));
  // As Grafana replaces its variables if all values are chosen.
  const queries = targets.map(({ expr }) =>
    expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:job|instance|model|provider)\b/g, ".*"),
  );
  expect(queries.length).toBeGreaterThan(25);
  expect(queries.filter((query) => query.includes("$"))).toEqual([]);
  const rules = queries.map((expr, no) => ({ record: `panel:query_${no}`, expr }));
  const folder = newFolder();
  const file = join(folder, "rules.json");
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  const { exitCode, output } = runPromtool("check", "rules", file);
  rmSync(folder, { recursive: true });
  expect(output).toContain(`${queries.length} rules found`);
  expect(exitCode).toBe(0);
});

test.skipIf(promtool === null)(
  `${skipped}three rejected calls between two scrapes fire the shipped rule, which names the provider`,
  () => {
    const metrics = new Metrics();
    const before = metrics.render(gauges);
    for (let call = 0; call < 3; call += 1)
      metrics.observe(exchangeFacts({ attempts: 1, failedAttempts: [rejectedAttempt] }));
    const after = metrics.render(gauges);
    const rejects = {
      exp_labels: { severity: "critical", instance: "gw:9464", provider: "openai", failure: "status_401" },
      exp_annotations: {
        summary: "openai rejects the gateway: status_401",
        description:
          "Its account has a billing problem (billing), or the key or the model's name is wrong. `sluice models check` and the Models page show what to do.",
      },
    };
    const rule = "SluiceProviderRejectsGateway";
    const input = (job: string) => ({ interval: "1m", input_series: seriesOf(job, [before, before, after]) });
    const { output, exitCode } = testRules([
      { ...input("sluice"), alert_rule_test: [fires(rule, "1m", []), fires(rule, "2m", [rejects])] },
      { ...input("another"), alert_rule_test: [fires(rule, "2m", [])] },
    ]);
    expect(output).toContain("SUCCESS");
    expect(exitCode).toBe(0);
  },
);

test.skipIf(promtool === null)(
  `${skipped}a gateway that is down, a job that is gone and a provider's alert fire`,
  () => {
    const alerts = new Metrics().render({
      ...gauges,
      activeAlerts: [
        { kind: "provider_auth", provider: "openai", count: 1 },
        { kind: "provider_auth", provider: "anthropic", count: 0 },
      ],
    });
    const down = {
      exp_labels: { severity: "critical", job: "sluice", instance: "gw:9464" },
      exp_annotations: {
        summary: "gw:9464 cannot be scraped",
        description:
          "The gateway is stopped, or its metrics cannot be reached. Its host's service manager and log show why.",
      },
    };
    const gone = {
      exp_labels: { severity: "critical", job: "sluice" },
      exp_annotations: {
        summary: "Prometheus scrapes no gateway",
        description:
          "No target has the job `sluice`, so no other rule here can fire. Its scrape configuration has lost it, or gives it another name.",
      },
    };
    const rejected = {
      exp_labels: { severity: "critical", provider: "openai" },
      exp_annotations: {
        summary: "openai rejects the gateway's credentials",
        description: "`sluice models check` tests it again.",
      },
    };
    const up = (values: string, job = "sluice") => [
      { series: `up{job="${job}",instance="gw:9464"}`, values },
    ];
    const { output, exitCode } = testRules([
      {
        interval: "1m",
        input_series: up("1 0 0 0"),
        alert_rule_test: [fires("SluiceDown", "1m", []), fires("SluiceDown", "2m", [down])],
      },
      {
        interval: "1m",
        input_series: up("1x10", "another"),
        alert_rule_test: [fires("SluiceNotScraped", "4m", []), fires("SluiceNotScraped", "5m", [gone])],
      },
      {
        interval: "1m",
        input_series: seriesOf("sluice", [alerts]),
        alert_rule_test: [fires("SluiceProviderAuth", "0m", [rejected])],
      },
    ]);
    expect(output).toContain("SUCCESS");
    expect(exitCode).toBe(0);
  },
);
