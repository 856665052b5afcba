import { type Cell, cellEvents, cellName } from "./cells.ts";
import type { Gateway } from "./gateways.ts";
import type { LoadJob, LoadResult } from "./load-job.ts";
import type { LoadProcess } from "./load-process.ts";
import { compilerMicros, processorTicks } from "./proc.ts";

/** What one gateway did in a while. */
export interface RoundMetrics {
  readonly requestsPerSecond: number;
  readonly cpuMicrosPerRequest: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly firstEventP50Micros: number;
}

/** The two that gateways are compared by. */
export const speed = (figures: RoundMetrics) => figures.requestsPerSecond;
export const cpu = (figures: RoundMetrics) => figures.cpuMicrosPerRequest;

/** The median of the rounds, figure by figure, and the rounds themselves. */
export interface MedianMetrics extends RoundMetrics {
  readonly rounds: readonly RoundMetrics[];
}

export interface Pace {
  readonly rounds: number;
  readonly windowMs: number;
  /** How long a gateway's compiler is waited for. */
  readonly mostWarmupMs: number;
}

/** A round is repeated if the machine's host gave more than this share of the processors to others meanwhile. */
const mostStolenShare = 0.02;
/** So often at most, counted over all rounds; then the least disturbed ones count. */
const mostAttemptsPerRound = 3;

/** Before every window, for the connections to be made. */
const connectingMs = 100;

/** In such steps a gateway is warmed up. */
const warmupStepMs = 500;
/** A compiler that works less than this share of a step, twice in a row, is at rest: it comes in waves. */
const restingShare = 0.06;

/**
 * Measures gateways in turns (a, b, a, b, …) rather than one after the other, so that noise from other processes hits all of
 * them, and takes medians, so that it counts little. Many short rounds are better than a few long ones: most disturbances last
 * less than a second. A disturbed round is repeated.
 */
export async function measureInTurns(
  load: LoadProcess,
  cell: Cell,
  gateways: readonly Gateway[],
  pace: Pace,
): Promise<MedianMetrics[]> {
  for (const gateway of gateways) await warmUp(load, cell, gateway, pace.mostWarmupMs);
  const rounds: Round[] = [];
  const isEnough = () => rounds.filter(({ stolen }) => stolen <= mostStolenShare).length === pace.rounds;
  while (rounds.length < pace.rounds * mostAttemptsPerRound && !isEnough()) {
    rounds.push(await measureRound(load, cell, gateways, pace));
  }
  const calmest = rounds.toSorted((one, other) => one.stolen - other.stolen).slice(0, pace.rounds);
  return gateways.map((_, index) => medians(calmest.flatMap(({ figures }) => figures[index] ?? [])));
}

/** One window of each gateway. */
interface Round {
  readonly figures: readonly RoundMetrics[];
  /** The share of the processors that others had meanwhile. */
  readonly stolen: number;
}

async function measureRound(
  load: LoadProcess,
  cell: Cell,
  gateways: readonly Gateway[],
  pace: Pace,
): Promise<Round> {
  const before = processorTicks();
  const figures: RoundMetrics[] = [];
  for (const gateway of gateways) {
    const result = await load.run(windowOf(cell, gateway, connectingMs, pace.windowMs));
    if (result.failures > 0) {
      throw new Error(
        `${gateway.name}, ${cellName(cell)}: ${result.failures} failed; ${result.firstFailure}`,
      );
    }
    figures.push(figuresOf(result, cell));
  }
  const after = processorTicks();
  return { figures, stolen: (after.stolen - before.stolen) / Math.max(1, after.all - before.all) };
}

/**
 * How the one compares with the other: the median of what each round said. Two windows that follow each other meet
 * the same neighbour, so this is steadier than comparing the medians of windows that were seconds apart.
 */
export function ratio(
  ours: MedianMetrics,
  theirs: MedianMetrics,
  pick: (figures: RoundMetrics) => number,
): number {
  const ratios = ours.rounds.flatMap((round, index) => {
    const other = theirs.rounds[index];
    return other === undefined ? [] : [pick(round) / pick(other)];
  });
  return median(ratios);
}

/**
 * Optimised code is made after thousands of calls, and a gateway that has just met a kind of request is not what
 * serves. Its compiler was seen at work for three seconds of a new kind of JSON request and for six of a stream, a
 * proxy's of twenty lines for a fraction of one, so each is given the time that it needs.
 */
async function warmUp(load: LoadProcess, cell: Cell, gateway: Gateway, mostMs: number): Promise<void> {
  let restingSteps = 0;
  for (let warmedMs = 0; warmedMs < mostMs && restingSteps < 2; warmedMs += warmupStepMs) {
    const before = compilerMicros(gateway.pid);
    await load.run(windowOf(cell, gateway, 0, warmupStepMs));
    const isResting = compilerMicros(gateway.pid) - before < restingShare * warmupStepMs * 1000;
    restingSteps = isResting ? restingSteps + 1 : 0;
  }
}

function windowOf(cell: Cell, gateway: Gateway, warmupMs: number, windowMs: number): LoadJob {
  const eventsPerResponse = cellEvents(cell);
  const { concurrency } = cell;
  return { target: gateway.target(cell), concurrency, mode: "window", warmupMs, windowMs, eventsPerResponse };
}

function figuresOf(result: LoadResult, cell: Cell): RoundMetrics {
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

function medians(rounds: readonly RoundMetrics[]): MedianMetrics {
  const of = (pick: (figures: RoundMetrics) => number) => median(rounds.map(pick));
  return {
    requestsPerSecond: of((it) => it.requestsPerSecond),
    cpuMicrosPerRequest: of((it) => it.cpuMicrosPerRequest),
    p50Micros: of((it) => it.p50Micros),
    p99Micros: of((it) => it.p99Micros),
    firstEventP50Micros: of((it) => it.firstEventP50Micros),
    rounds,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
