import { cellName } from "./cells.ts";
import type { GatewayName } from "./gateways.ts";
import { growthCell } from "./growth.ts";
import { peers } from "./peers.ts";
import type { CellResult, Results } from "./results.ts";
import { cpu, type MedianMetrics, type RoundMetrics, ratio, speed } from "./rounds.ts";
import { runBench } from "./run.ts";

/** Runs of one cell, each with new processes: a host that is busy for a minute decides about one run, not about all. */
export async function runRepeatedly(count: number, progress: (line: string) => void): Promise<Results[]> {
  const runs: Results[] = [];
  for (let run = 1; run <= count; run += 1) {
    progress(`run ${run} of ${count}`);
    runs.push(await runBench({ full: true, only: cellName(growthCell), other: null, progress }));
  }
  return runs;
}

const titles: readonly (readonly [GatewayName, string])[] = [
  ["bare", "bare"],
  ["sluice", "Sluice"],
  ...peers.map(({ name, title }) => [name, title] as const),
];

/** A row for each gateway: the median of the runs, and their range. */
export function repeatedReport(runs: readonly Results[]): string {
  const cells = runs.flatMap(({ cells }) =>
    cells.filter(({ cell }) => cellName(cell) === cellName(growthCell)),
  );
  const rows = titles.flatMap(([name, title]) => rowOf(cells, name, title));
  const [first] = runs;
  return [
    `${first?.machine}, ${first?.startedAt}, ${cellName(growthCell)}: median and range of ${runs.length} runs`,
    "",
    "| gateway | requests/s | of bare | CPU µs per request | × bare |",
    "|---|---|---|---|---|",
    ...rows,
    "",
    ...new Set(runs.flatMap(({ notes }) => notes)),
  ].join("\n");
}

function rowOf(cells: readonly CellResult[], name: GatewayName, title: string): string[] {
  const pairs = cells.flatMap(({ figures }) => {
    const [its, bare] = [figures[name], figures.bare];
    return its === undefined || bare === undefined ? [] : [[its, bare] as const];
  });
  if (pairs.length === 0) return [];
  const values = (of: (its: MedianMetrics) => number) => pairs.map(([its]) => of(its));
  const ratios = (of: (figures: RoundMetrics) => number) => pairs.map(([its, bare]) => ratio(its, bare, of));
  const columns = [
    range(
      values((its) => its.requestsPerSecond),
      0,
    ),
    range(ratios(speed), 2),
    range(
      values((its) => its.cpuMicrosPerRequest),
      0,
    ),
    range(ratios(cpu), 2),
  ];
  return [`| ${[title, ...columns].join(" | ")} |`];
}

/** `9,811 (9,200 to 10,423)`. A round without a request has no cost per request, and is left aside. */
function range(values: readonly number[], decimals: number): string {
  const sorted = values.filter(Number.isFinite).toSorted((one, other) => one - other);
  if (sorted.length === 0) return "–";
  const shown = (value = 0) =>
    value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return `${shown(sorted[sorted.length >> 1])} (${shown(sorted[0])} to ${shown(sorted.at(-1))})`;
}
