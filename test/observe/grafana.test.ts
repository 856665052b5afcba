import { expect, test } from "bun:test";
import dashboard from "../../config/grafana/sluice.json";
import { alertKindNames } from "../../src/alerts/alert.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { exchangeFacts } from "./fixtures.ts";

/** All metrics, each with a sample. */
function rendered(): string {
  const metrics = new Metrics();
  const [deployment, provider, upstreamModel] = ["a/b", "a", "b"];
  const attempt = { deployment, provider, upstreamModel, status: 429, code: "upstream_error" } as const;
  const rest = { failure: "billing", cause: null, said: null, durationMs: 1, left: "ended" } as const;
  metrics.observe(exchangeFacts({ errorCode: "upstream_error", failedAttempts: [{ ...attempt, ...rest }] }));
  return metrics.render({
    version: "1.2.3",
    startedAtMs: 1_800_000_000_500,
    providers: ["openai", "a"],
    ready: true,
    inFlight: 0,
    backgroundInFlight: 0,
    batches: {
      states: { running: 0, waiting: 0, paused: 0 },
      waitingLines: 0,
      runningLines: 0,
      oldestSeconds: 0,
      ended: { completed: 0, failed: 0 },
      reruns: 0,
      unknownResults: 0,
    },
    requestLogDropped: 0,
    droppedContent: 0,
    droppedSpans: 0,
    feed: null,
    heldCredits: 0,
    heldTokens: 0,
    overrunCredits: 0,
    overrunTokens: 0,
    eventLoopLagMs: 0,
    residentBytes: 0,
    journal: { batches: 0, items: 0, failedBatches: 0, lastBatchItems: 0, lastBatchMs: 0, pendingItems: 0 },
    activeAlerts: alertKindNames.map((kind) => ({
      kind,
      provider: kind.startsWith("provider_") ? "a" : null,
      count: 0,
    })),
    accounts: [
      {
        account: "acc_1",
        label: "atlas",
        unit: "credits",
        balance: 1,
        caps: [{ period: "day", models: "", limit: 1, used: 1 }],
      },
    ],
    breakers: [{ deployment: "a/b", state: "closed", inFlight: 0 }],
  });
}

function unknownMetrics(asking: string): string[] {
  const text = rendered();
  const asked = new Set(asking.match(/\b(?:sluice|process)_[a-z_]+/g));
  expect(asked.size).toBeGreaterThan(5);
  return [...asked].filter((name) => !new RegExp(`^${name}[ {]`, "m").test(text));
}

test("the Grafana dashboard asks only for metrics that there are", () => {
  expect(unknownMetrics(JSON.stringify(dashboard.panels))).toEqual([]);
});

test("every query of the dashboard is of the chosen jobs and instances", () => {
  const queries = dashboard.panels.flatMap((panel) => ("targets" in panel ? (panel.targets ?? []) : []));
  const selectors = queries.flatMap(
    ({ expr }) => expr.match(/\b(?:sluice|process)_\w+(?:\{[^}]*\})?/g) ?? [],
  );
  expect(selectors.length).toBeGreaterThan(30);
  const chosen = 'job=~"$job",instance=~"$instance"';
  expect(selectors.filter((selector) => !selector.includes(chosen))).toEqual([]);
  const variables = dashboard.templating.list.map(({ name }) => name);
  expect(variables).toEqual(["datasource", "job", "instance", "model", "provider"]);
});

test("every rule is about the job that prometheus.yml scrapes", async () => {
  const read = async (name: string) => Bun.YAML.parse(await Bun.file(`config/prometheus/${name}.yml`).text());
  const { scrape_configs } = (await read("prometheus")) as { scrape_configs: { job_name: string }[] };
  expect(scrape_configs.map(({ job_name }) => job_name)).toEqual(["sluice"]);
  const { groups } = (await read("alerts")) as { groups: { rules: { expr: string }[] }[] };
  const selectors = groups.flatMap(({ rules }) =>
    rules.flatMap(({ expr }) => expr.match(/\b(?:sluice_\w+|process_\w+|up)\b(?:\{[^}]*\})?/g) ?? []),
  );
  expect(selectors.length).toBeGreaterThan(25);
  expect(selectors.filter((selector) => !selector.includes('{job="sluice"'))).toEqual([]);
});

test("the alerts for Prometheus ask only for metrics and labels that there are", async () => {
  const { groups } = Bun.YAML.parse(await Bun.file("config/prometheus/alerts.yml").text()) as {
    groups: { rules: { alert: string; expr: string; annotations: object }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const asking = rules.map(({ expr }) => expr).join("\n");
  expect(unknownMetrics(asking)).toEqual([]);
  const labels = new Set(rendered().match(/[a-z_]+(?==")/g));
  const known = new Set([...labels, "instance", "job"]);
  const told = [...JSON.stringify(rules).matchAll(/\$labels\.(\w+)|by \(([\w, ]+)\)|[{,](\w+)=~?\\"/g)];
  const used = told.flatMap(([, ...names]) => names.flatMap((name) => name?.split(", ") ?? []));
  expect(used.filter((name) => !known.has(name))).toEqual([]);
  expect(used).toContain("failure");
});
