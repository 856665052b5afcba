/** Prometheus's text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */

export type Labels = Readonly<Record<string, string>>;

/** Durations, counted by bucket; the last bucket is open-ended. */
interface Durations {
  readonly counts: Float64Array;
  readonly sumMs: number;
  readonly count: number;
}

/** One value of a metric. */
type Sample = readonly [labels: Labels, value: number];

export class Exposition {
  #text = "";

  /** A metric with all its samples. A single number is a sample without labels. */
  family(name: string, type: "counter" | "gauge", help: string, samples: number | readonly Sample[]): void {
    this.#head(name, type, help);
    if (typeof samples === "number") this.#sample(name, {}, samples);
    else for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  /** Durations are counted in milliseconds; Prometheus's convention is seconds. */
  histogram(
    name: string,
    help: string,
    boundsMs: readonly number[],
    all: readonly (readonly [Labels, Durations])[],
  ): void {
    this.#head(name, "histogram", help);
    for (const [labels, series] of all) {
      let cumulative = 0;
      boundsMs.forEach((boundMs, bucket) => {
        cumulative += series.counts[bucket] ?? 0;
        this.#sample(`${name}_bucket`, { ...labels, le: String(boundMs / 1000) }, cumulative);
      });
      this.#sample(`${name}_bucket`, { ...labels, le: "+Inf" }, series.count);
      this.#sample(`${name}_sum`, labels, series.sumMs / 1000);
      this.#sample(`${name}_count`, labels, series.count);
    }
  }

  toString(): string {
    return this.#text;
  }

  #head(name: string, type: string, help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  #sample(name: string, labels: Labels, value: number): void {
    this.#text += `${name}${braces(labels)} ${value}\n`;
  }
}

function braces(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
