import { sumFigures } from "../figures.ts";
import type { Queries } from "../query.ts";
import type { GroupFigures, GroupQuery, LatencyBand, StepFigures, StepQuery } from "../reports.ts";
import { type GroupColumn, partsOf, type SourceRange } from "./usage-source.ts";
import { UsageSums } from "./usage-sums.ts";

/** How long what was read from rows is taken for true: a page that is open asks for the same again and again. */
const keptMs = 60_000;
const mostKept = 500;

/** Puts reports over any range together from the parts that one source each has all of. Exact to the minute. */
export class ExactUsage {
  readonly #sums: UsageSums;
  readonly #rowsAtOnceMs: number;
  readonly #kept = new Map<string, { readonly atMs: number; readonly rows: readonly unknown[] }>();

  constructor(queries: Queries) {
    this.#sums = new UsageSums(queries);
    this.#rowsAtOnceMs = queries.pace.summedMs;
  }

  async inSteps(query: StepQuery): Promise<readonly StepFigures[]> {
    const parts = partsOf(query, this.#rowsAtOnceMs, query.stepMs);
    const rows = await this.#collect("steps", query, parts, (part) =>
      this.#sums.inSteps({ ...query, ...part }),
    );
    const steps = merged(rows, ({ startMs }) => startMs);
    return steps.toSorted((one, other) => one.startMs - other.startMs);
  }

  async by(column: GroupColumn, query: GroupQuery): Promise<readonly GroupFigures[]> {
    const parts = partsOf(query, this.#rowsAtOnceMs);
    // What is largest of one part need not be largest of all.
    const asked = parts.length === 1 ? query : { ...query, largest: undefined };
    const rows = await this.#collect(column, asked, parts, (part) =>
      this.#sums.by(column, { ...asked, ...part }),
    );
    const groups = merged(rows, ({ group }) => group);
    if (query.largest === undefined)
      return groups.toSorted((one, other) => (one.group < other.group ? -1 : 1));
    return groups.toSorted(bySpend).slice(0, query.largest);
  }

  async latencies(query: StepQuery): Promise<readonly LatencyBand[]> {
    const parts = partsOf(query, this.#rowsAtOnceMs, query.stepMs);
    const rows = await this.#collect("bands", query, parts, (part) =>
      this.#sums.latencies({ ...query, ...part }),
    );
    const bands = new Map<string, LatencyBand>();
    for (const band of rows) {
      const name = `${band.startMs} ${band.measure} ${band.upToMs}`;
      bands.set(name, { ...band, requests: band.requests + (bands.get(name)?.requests ?? 0) });
    }
    return [...bands.values()].toSorted(
      (one, other) =>
        one.startMs - other.startMs ||
        (one.measure < other.measure ? -1 : one.measure > other.measure ? 1 : one.upToMs - other.upToMs),
    );
  }

  /** Each row is in one part by its time, so it is counted once although the parts are read one after the other. */
  async #collect<Row>(
    what: string,
    query: { readonly keyId?: string | undefined; readonly stepMs?: number },
    parts: readonly SourceRange[],
    read: (part: SourceRange) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (const part of parts) {
      const isSlow = part.source === "rows" && parts.length > 1;
      const name = `${what} ${query.keyId ?? ""} ${query.stepMs ?? ""} ${part.sinceMs} ${part.untilMs}`;
      rows.push(...(isSlow ? await this.#readOnce(name, () => read(part)) : await read(part)));
      if (isSlow) await Bun.sleep(0);
    }
    return rows;
  }

  async #readOnce<Row>(name: string, read: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const nowMs = performance.now();
    const known = this.#kept.get(name);
    // What is kept under a name was read by the same query.
    if (known !== undefined && nowMs - known.atMs < keptMs) return known.rows as readonly Row[];
    const rows = await read();
    this.#kept.delete(name);
    this.#kept.set(name, { atMs: nowMs, rows });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept) break;
      this.#kept.delete(oldest);
    }
    return rows;
  }
}

/** Adds up what has the same name in several parts. */
function merged<Row extends StepFigures | GroupFigures>(
  rows: readonly Row[],
  nameOf: (row: Row) => string | number,
): readonly Row[] {
  const sums = new Map<string | number, Row>();
  for (const row of rows) {
    const name = nameOf(row);
    const known = sums.get(name);
    sums.set(name, known === undefined ? row : { ...known, ...sumFigures([known, row]) });
  }
  return [...sums.values()];
}

function bySpend(one: GroupFigures, other: GroupFigures): number {
  return spendOf(other) - spendOf(one) || other.requests - one.requests;
}

/** What pages show first of a group: its spend, or what the use of token budgets would have cost where there is none. */
function spendOf({ spendNano, listCostNano }: GroupFigures): number {
  return spendNano === 0 ? listCostNano : spendNano;
}
