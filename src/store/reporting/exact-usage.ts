import { sortInTurns } from "../../base/loop/in-turns.ts";
import type { Queries } from "../query.ts";
import type {
  GroupedTotals,
  GroupPage,
  GroupPageQuery,
  GroupQuery,
  LatencyBand,
  StepQuery,
  StepTotals,
} from "../reports.ts";
import { type Detail, type Dimension, timeSteps } from "./dimensions.ts";
import { type GroupedRow, GroupSums } from "./group-sums.ts";
import { partsOf, type SourceRange } from "./usage-source.ts";
import { UsageSums } from "./usage-sums.ts";

/** How long results read from rows are cached: an open page repeats the same query. */
const keptMs = 60_000;
const maxCached = 500;

/** Assembles reports over any range from parts that one source each can serve. Exact to the minute. */
export class ExactUsage {
  readonly #sums: UsageSums;
  readonly #kept = new Map<string, { readonly atMs: number; readonly rows: readonly unknown[] }>();

  constructor(queries: Queries) {
    this.#sums = new UsageSums(queries);
  }

  async inSteps({ stepMs, ...query }: StepQuery): Promise<readonly StepTotals[]> {
    const steps = await this.by([timeSteps(stepMs, String)], query);
    return steps
      .map(({ groups, ...totals }) => ({ startMs: Number(groups[0]), ...totals }))
      .toSorted((one, other) => one.startMs - other.startMs);
  }

  async by(dimensions: readonly Dimension[], query: GroupQuery): Promise<readonly GroupedTotals[]> {
    const { largest } = query;
    const { all } = await this.#sumsBy(dimensions, query);
    if (largest === undefined) return sortInTurns(all, byName);
    return (await sortInTurns(all, bySpend)).slice(0, largest);
  }

  /** A page of the ordered groups, and the total of all of them. */
  async page(dimensions: readonly Dimension[], query: GroupPageQuery): Promise<GroupPage> {
    const { order, skip, limit } = query;
    const { all, total } = await this.#sumsBy(dimensions, query);
    const sorted = await sortInTurns(all, order === "name" ? byName : byWorth);
    return { groups: sorted.slice(skip, skip + limit), count: all.length, total };
  }

  async #sumsBy(dimensions: readonly Dimension[], query: GroupQuery): Promise<GroupSums> {
    const { keyId, accountId, signal } = query;
    const details = new Set<Detail>(dimensions.flatMap(({ needs }) => needs));
    if (keyId !== undefined) details.add("key");
    if (accountId !== undefined) details.add("row");
    const sums = new GroupSums(dimensions);
    const name = dimensions.map((dimension) => dimension.of({ column: "at_ms", unitMs: 1 })).join();
    await this.#collect<GroupedRow>(
      `${name} ${keyId}`,
      partsOf(query, details),
      (part, take) => this.#sums.read({ dimensions, details, keyId, accountId, signal }, part, take),
      sums.add,
    );
    return sums;
  }

  async latencies({ stepMs, ...range }: StepQuery): Promise<readonly LatencyBand[]> {
    const bands = new Map<string, LatencyBand>();
    const details = new Set(timeSteps(stepMs, String).needs);
    await this.#collect<LatencyBand>(
      `bands ${stepMs}`,
      partsOf(range, details),
      (part, take) => this.#sums.readLatencies(stepMs, part, take),
      (rows) => {
        for (const band of rows) {
          const name = `${band.startMs} ${band.measure} ${band.upToMs}`;
          bands.set(name, { ...band, requests: band.requests + (bands.get(name)?.requests ?? 0) });
        }
      },
    );
    return [...bands.values()].toSorted(
      (one, other) =>
        one.startMs - other.startMs ||
        (one.measure < other.measure ? -1 : one.measure > other.measure ? 1 : one.upToMs - other.upToMs),
    );
  }

  /** Each row belongs to one part by its time, so it is counted once although the parts are read one after the other. */
  async #collect<Row>(
    what: string,
    parts: readonly SourceRange[],
    read: (part: SourceRange, take: (rows: readonly Row[]) => void) => Promise<void>,
    take: (rows: readonly Row[]) => void,
  ): Promise<void> {
    for (const part of parts) {
      const isSlow = part.source === "rows" && parts.length > 1;
      if (!isSlow) await read(part, take);
      else take(await this.#readOnce(`${what} ${part.sinceMs} ${part.untilMs}`, (keep) => read(part, keep)));
    }
  }

  async #readOnce<Row>(
    name: string,
    read: (take: (rows: readonly Row[]) => void) => Promise<void>,
  ): Promise<readonly Row[]> {
    const nowMs = performance.now();
    const known = this.#kept.get(name);
    // Safe cast: what is cached under a name was read by the same query.
    if (known !== undefined && nowMs - known.atMs < keptMs) return known.rows as readonly Row[];
    const rows: Row[] = [];
    await read((some) => {
      for (const row of some) rows.push(row);
    });
    this.#kept.delete(name);
    this.#kept.set(name, { atMs: nowMs, rows });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxCached) break;
      this.#kept.delete(oldest);
    }
    return rows;
  }
}

/** Groups without a value come first. */
function byName(one: GroupedTotals, other: GroupedTotals): number {
  const place = one.groups.findIndex((value, index) => value !== other.groups[index]);
  const [value, otherValue] = [one.groups[place] ?? "", other.groups[place] ?? ""];
  return value < otherValue ? -1 : value > otherValue ? 1 : 0;
}

/** Ties are ordered by name, so that pages fit together. */
function byWorth(one: GroupedTotals, other: GroupedTotals): number {
  const worth = ({ spendNano, listCostNano }: GroupedTotals) => spendNano + listCostNano;
  return worth(other) - worth(one) || other.requests - one.requests || byName(one, other);
}

function bySpend(one: GroupedTotals, other: GroupedTotals): number {
  return spendOf(other) - spendOf(one) || other.requests - one.requests;
}

/** A group's spend or, without any, the list cost of its token budgets. */
function spendOf({ spendNano, listCostNano }: GroupedTotals): number {
  return spendNano === 0 ? listCostNano : spendNano;
}
