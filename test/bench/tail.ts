import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tailBar } from "./bars.ts";
import type { Cell } from "./cells.ts";
import { type Gateway, startBare, startProvider, startSluice } from "./gateways.ts";
import type { LoadResult } from "./load-job.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { align, barRows } from "./report.ts";

/**
 * The tail of one call at a time, on a fresh process and after it has served many: what a collection, a checkpoint or a cache that
 * has become too small costs shows only there. The bare proxy serves the same calls, because a noisy machine has a tail, too.
 */
export interface TailOptions {
  /** Calls between the first measurement and the last. */
  readonly calls: number;
  readonly progress: (line: string) => void;
}

interface Tail {
  readonly gateway: string;
  readonly calls: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

const cache = join(import.meta.dir, "../../node_modules/.cache/sluice-bench");
const alone: Cell = { route: "chat", size: "1 KB", stream: false, concurrency: 1 };
const small: Cell = { ...alone, concurrency: 32 };
const large: Cell = { ...small, size: "100 KB" };
/** A tenth of the calls between have bodies of 100 KB. */
const largeShare = 0.1;
const windowMs = 5_000;
const rounds = 3;

export async function measureTail({ calls, progress }: TailOptions): Promise<string> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "tail-"));
  const load = startLoad();
  const provider = await startProvider(folder);
  try {
    const { url } = provider.target(alone);
    const gateways = [await startBare(folder, url), await startSluice(join(folder, "sluice"), url)];
    await inTurns(load, gateways, 0);
    const fresh = await inTurns(load, gateways, 0);
    for (const gateway of gateways) await serve(load, gateway, calls, progress);
    const used = await inTurns(load, gateways, calls);
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    return [...fresh.map(row), ...used.map(row), "", align(barRows([barOf(used)]), [0, 3])].join("\n");
  } finally {
    await provider.stop();
    load.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The median of some windows, gateway after gateway, so that a neighbour's burst meets all of them. */
async function inTurns(load: LoadProcess, gateways: readonly Gateway[], calls: number): Promise<Tail[]> {
  const results = new Map<Gateway, LoadResult[]>(gateways.map((gateway) => [gateway, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const gateway of gateways) results.get(gateway)?.push(await run(load, gateway, alone, windowMs));
  }
  return gateways.map((gateway) => {
    const all = results.get(gateway) ?? [];
    return {
      gateway: gateway.name,
      calls,
      p50Micros: median(all.map(({ p50Micros }) => p50Micros)),
      p99Micros: median(all.map(({ p99Micros }) => p99Micros)),
    };
  });
}

async function serve(load: LoadProcess, gateway: Gateway, calls: number, progress: (line: string) => void) {
  for (const [cell, wanted] of [
    [large, calls * largeShare],
    [small, calls * (1 - largeShare)],
  ] as const) {
    let served = 0;
    while (served < wanted) {
      served += (await run(load, gateway, cell, windowMs)).requests;
      progress(`${gateway.name}: ${served} of ${wanted} calls with ${cell.size}`);
    }
  }
}

async function run(load: LoadProcess, gateway: Gateway, cell: Cell, forMs: number): Promise<LoadResult> {
  const { concurrency } = cell;
  const target = gateway.target(cell);
  const result = await load.run({
    ...{ target, concurrency, mode: "window", warmupMs: 0, windowMs: forMs, eventsPerResponse: 0 },
  });
  if (result.failures > 0) throw new Error(`${gateway.name}: ${result.firstFailure}`);
  return result;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function barOf(tails: readonly Tail[]) {
  const p99Of = (name: string) => tails.find(({ gateway }) => gateway === name)?.p99Micros ?? 0;
  return tailBar((p99Of("sluice") - p99Of("bare")) / 1000);
}

function row({ gateway, calls, p50Micros, p99Micros }: Tail): string {
  const name = `${gateway}, after ${calls} calls`;
  return `${name.padEnd(32)} p50 ${p50Micros.toFixed(0).padStart(6)} µs   p99 ${(p99Micros / 1000).toFixed(2).padStart(7)} ms`;
}
