import { type Cell, cellEvents, cellName } from "./cells.ts";
import type { Gateway, GatewayName } from "./gateways.ts";
import type { LoadResult } from "./load-job.ts";
import type { LoadProcess } from "./load-process.ts";

/** What one gateway did in one cell: the median of the rounds, figure by figure. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly cpuMicrosPerRequest: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly firstEventP50Micros: number;
}

export interface Pace {
  readonly rounds: number;
  readonly windowMs: number;
}

/**
 * The first round also brings what only this cell uses to its optimised form. That takes a gateway's thousands of
 * lines longer than a proxy's twenty; its compiler's threads were seen at work for three seconds of a new cell.
 */
const firstWarmupMs: Readonly<Record<GatewayName, number>> = {
  direct: 150,
  bare: 500,
  sluice: 2500,
  portkey: 1000,
};

/**
 * Measures gateways in turns (a, b, a, b, …) rather than one after the other, so that a neighbour's noise
 * meets all of them, and takes medians, so that it counts little.
 */
export async function measureInTurns(
  load: LoadProcess,
  cell: Cell,
  gateways: readonly Gateway[],
  pace: Pace,
): Promise<Figures[]> {
  const rounds: Figures[][] = gateways.map(() => []);
  for (let round = 0; round < pace.rounds; round++) {
    for (const [index, gateway] of gateways.entries()) {
      const result = await load.run({
        target: gateway.target(cell),
        concurrency: cell.concurrency,
        mode: "window",
        warmupMs: round === 0 ? firstWarmupMs[gateway.name] : 150,
        windowMs: pace.windowMs,
        eventsPerAnswer: cellEvents(cell),
      });
      if (result.failures > 0) {
        throw new Error(
          `${gateway.name}, ${cellName(cell)}: ${result.failures} failed; ${result.firstFailure}`,
        );
      }
      rounds[index]?.push(figuresOf(result, cell));
    }
  }
  return rounds.map(medians);
}

/** Optimised code is made after thousands of calls; a gateway that has just started is not what is measured. */
export async function warmUp(load: LoadProcess, gateways: readonly Gateway[]): Promise<void> {
  for (const stream of [false, true]) {
    const cell = { route: "chat", size: "1 KB", stream, concurrency: 32 } as const;
    for (const gateway of gateways) {
      await load.run({
        target: gateway.target(cell),
        concurrency: cell.concurrency,
        mode: "window",
        warmupMs: 0,
        windowMs: 2000,
        eventsPerAnswer: cellEvents(cell),
      });
    }
  }
}

function figuresOf(result: LoadResult, cell: Cell): Figures {
  // Streams that run side by side end in bunches; their events are spread evenly, so those are counted.
  const requests = cell.stream ? result.events / cellEvents(cell) : result.requests;
  return {
    requestsPerSecond: requests / result.seconds,
    cpuMicrosPerRequest: result.cpuMicros / requests,
    p50Micros: result.p50Micros,
    p99Micros: result.p99Micros,
    firstEventP50Micros: result.firstEventP50Micros,
  };
}

function medians(rounds: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number) => median(rounds.map(pick));
  return {
    requestsPerSecond: of((it) => it.requestsPerSecond),
    cpuMicrosPerRequest: of((it) => it.cpuMicrosPerRequest),
    p50Micros: of((it) => it.p50Micros),
    p99Micros: of((it) => it.p99Micros),
    firstEventP50Micros: of((it) => it.firstEventP50Micros),
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
