/** Prometheus's text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */

export type Labels = readonly (readonly [name: string, value: string])[];

export class Exposition {
  #text = "";

  family(name: string, type: "counter" | "gauge" | "histogram", help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  sample(name: string, labels: Labels, value: number): void {
    this.#text += `${name}${braces(labels)} ${value}\n`;
  }

  /** One series of a histogram. It is counted in milliseconds; Prometheus's convention is seconds. */
  histogram(name: string, labels: Labels, boundsMs: readonly number[], series: HistogramCounts): void {
    let cumulative = 0;
    boundsMs.forEach((boundMs, bucket) => {
      cumulative += series.counts[bucket] ?? 0;
      this.sample(`${name}_bucket`, [...labels, ["le", String(boundMs / 1000)]], cumulative);
    });
    this.sample(`${name}_bucket`, [...labels, ["le", "+Inf"]], series.count);
    this.sample(`${name}_sum`, labels, series.sumMs / 1000);
    this.sample(`${name}_count`, labels, series.count);
  }

  toString(): string {
    return this.#text;
  }
}

interface HistogramCounts {
  readonly counts: ArrayLike<number>;
  readonly sumMs: number;
  readonly count: number;
}

function braces(labels: Labels): string {
  if (labels.length === 0) return "";
  return `{${labels.map(([name, value]) => `${name}="${escaped(value)}"`).join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
