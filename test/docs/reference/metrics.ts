import { failureKinds } from "../../../src/upstream/failure-kinds.ts";

/** The page of all metrics, from a scrape in which every metric has a sample. */
export function metricsPage(scrape: string): string {
  const types = new Map(
    [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]),
  );
  const rows = [...scrape.matchAll(/^# HELP (\S+) (.*)$/gm)].map(
    ([, name = "", help = ""]) =>
      `| \`${name}\` | ${types.get(name) ?? ""} | ${labelsOf(scrape, name)} | ${help} |`,
  );
  const failures = Object.entries(failureKinds).map(([kind, meaning]) => `| \`${kind}\` | ${meaning} |`);
  return `# Metrics

Every metric of \`GET /metrics\` in Prometheus's text format, generated from the program.
\`config/prometheus/\` has a scrape configuration and alert rules, \`config/grafana/\` a dashboard.
A reload keeps all counters; a restart resets them.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
${rows.join("\n")}

## Values of \`failure\`

| Value | Meaning |
|---|---|
| \`status_N\` | The provider returned the status N, such as \`status_429\`. |
${failures.join("\n")}
`;
}

/** The labels of a metric's samples, in their order. Throws without a sample: the page would lack its labels. */
function labelsOf(scrape: string, name: string): string {
  const labels = new Set<string>();
  if (!new RegExp(`^${name}(?:_bucket)?[ {]`, "m").test(scrape)) throw new Error(`${name} has no sample`);
  for (const [, all = ""] of scrape.matchAll(
    new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, "gm"),
  )) {
    for (const [, label = ""] of all.matchAll(/(\w+)="/g)) if (label !== "le") labels.add(label);
  }
  return [...labels].map((label) => `\`${label}\``).join(", ");
}
