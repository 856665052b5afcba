/** The page of all metrics, from a scrape. */
export function metricsPage(scrape: string): string {
  const types = new Map(
    [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]),
  );
  const rows = [...scrape.matchAll(/^# HELP (\S+) (.*)$/gm)].map(
    ([, name = "", help = ""]) =>
      `| \`${name}\` | ${types.get(name) ?? ""} | ${labelsOf(scrape, name)} | ${help} |`,
  );
  return `# Metrics

Every metric of \`GET /metrics\` in Prometheus's text format, generated from a scrape of a running gateway.
\`config/prometheus/\` has a scrape configuration and alert rules, \`config/grafana/\` a dashboard.
A reload keeps all counters; a restart resets them.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
${rows.join("\n")}
`;
}

/** The labels that samples of a metric have, in their order. */
function labelsOf(scrape: string, name: string): string {
  const labels = new Set<string>();
  for (const [, all = ""] of scrape.matchAll(
    new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, "gm"),
  )) {
    for (const [, label = ""] of all.matchAll(/(\w+)="/g)) if (label !== "le") labels.add(label);
  }
  return [...labels].map((label) => `\`${label}\``).join(", ");
}
