import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { atLeast, atMost, type Bar, below } from "./bars.ts";
import { type Cell, cellName } from "./cells.ts";
import { type BenchNode, type Gateway, startNode, startProvider, startSluice } from "./gateways.ts";
import { growthCell } from "./growth.ts";
import type { LoadTarget } from "./load-job.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { measurePaced, type PacedFigures } from "./paced.ts";
import { steady } from "./payloads.ts";
import { processorName } from "./proc.ts";
import { align, barRows } from "./report.ts";
import { cpu, type MedianMetrics, measureInTurns, median, ratio, speed } from "./rounds.ts";

/** A gateway on PostgreSQL against one on SQLite, in turns; PostgreSQL, provider and load share the cores with them. */
export interface ClusterResults {
  readonly machine: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly alone: Pair;
  readonly crowd: Pair;
  /** Requests per second: one node with a key for each connection, two nodes with one key for all of theirs. */
  readonly manyKeys: number;
  readonly hotKey: number;
  readonly paced: { readonly sqlite: PacedFigures; readonly postgres: PacedFigures };
}

interface Pair {
  readonly sqlite: MedianMetrics;
  readonly postgres: MedianMetrics;
}

const crowdCell: Cell = { route: "chat", size: "1 KB", stream: false, concurrency: 32 };
const aloneCell: Cell = { ...crowdCell, concurrency: 1 };
const pace = { rounds: 9, windowMs: 500, mostWarmupMs: 8000 };
const cache = join(import.meta.dir, "../../node_modules/.cache/sluice-bench");

export async function runClusterBench(progress: (line: string) => void): Promise<ClusterResults> {
  if (!hasPostgres) throw new Error(withoutPostgres);
  const startedAt = new Date();
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "run-"));
  using postgres = new PostgresServer({ isDurable: true, settings: { shared_buffers: "256MB" } });
  const loads = [startLoad(), startLoad()] as const;
  const provider = await startProvider(folder);
  const providerUrl = provider.target(growthCell).url;
  const store = postgres.url(await postgres.createDatabase());
  const node = (name: string) => startNode(join(folder, name), providerUrl, store);
  const folderGateway = (name: string) => startSluice(join(folder, name), providerUrl);
  try {
    const [sqlite, first] = [await folderGateway("sqlite"), await node("first")];
    progress(cellName(aloneCell));
    const alone = await compare(loads[0], aloneCell, sqlite, first);
    progress(cellName(crowdCell));
    const crowd = await compare(loads[0], crowdCell, sqlite, first);
    await sqlite.stop();
    progress("two nodes on one hot key");
    const second = await node("second");
    const keys = await compareKeys(loads, first, second);
    await Promise.all([first.stop(), second.stop()]);
    progress("1,000 paced streams");
    const paced = {
      sqlite: await pacedOn(loads[0], await folderGateway("paced-sqlite")),
      postgres: await pacedOn(loads[0], await node("paced-postgres")),
    };
    return {
      machine: `${processorName()}, ${availableParallelism()} cores, Bun ${Bun.version}`,
      startedAt: startedAt.toISOString(),
      seconds: (Date.now() - startedAt.getTime()) / 1000,
      alone,
      crowd,
      ...keys,
      paced,
    };
  } finally {
    for (const load of loads) load.stop();
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(load: LoadProcess, cell: Cell, sqlite: Gateway, postgres: Gateway): Promise<Pair> {
  const [ours, theirs] = await measureInTurns(load, cell, [sqlite, postgres], pace);
  if (ours === undefined || theirs === undefined) throw new Error("both were measured");
  return { sqlite: ours, postgres: theirs };
}

async function pacedOn(load: LoadProcess, gateway: Gateway): Promise<PacedFigures> {
  const figures = await measurePaced(load, gateway, steady);
  await gateway.stop();
  return figures;
}

async function compareKeys(
  [load, other]: readonly [LoadProcess, LoadProcess],
  first: BenchNode,
  second: BenchNode,
): Promise<{ manyKeys: number; hotKey: number }> {
  const [hot = "", ...many] = first.createKeys(crowdCell.concurrency + 1);
  const spread = { ...first.target(crowdCell), keys: many };
  const onFirst = { ...first.target(crowdCell), keys: [hot] };
  const onSecond = { ...second.target(crowdCell), keys: [hot] };
  const rates = { manyKeys: [] as number[], hotKey: [] as number[] };
  for (let round = -4; round < pace.rounds; round += 1) {
    const alone = await rateOf(load, spread);
    const together = await Promise.all([rateOf(load, onFirst), rateOf(other, onSecond)]);
    // The first ones warm up.
    if (round < 0) continue;
    rates.manyKeys.push(alone);
    rates.hotKey.push(together[0] + together[1]);
  }
  return { manyKeys: median(rates.manyKeys), hotKey: median(rates.hotKey) };
}

async function rateOf(load: LoadProcess, target: LoadTarget): Promise<number> {
  const { concurrency } = crowdCell;
  const window = { mode: "window", warmupMs: 100, windowMs: pace.windowMs, eventsPerResponse: 0 } as const;
  const result = await load.run({ target, concurrency, ...window });
  if (result.failures > 0) throw new Error(`${result.failures} failed; ${result.firstFailure}`);
  return result.requests / result.seconds;
}

export function judgeCluster({ alone, crowd, manyKeys, hotKey, paced }: ClusterResults): Bar[] {
  const { eventsSeen, eventsWanted, failures, firstEventP50Micros } = paced.postgres;
  const laterMs = (firstEventP50Micros - paced.sqlite.firstEventP50Micros) / 1000;
  return [
    below("c=1: added p50 over SQLite", 1500, alone.postgres.p50Micros - alone.sqlite.p50Micros, "µs"),
    atMost("c=32: CPU per request of SQLite's", 1.3, ratio(crowd.postgres, crowd.sqlite, cpu)),
    {
      what: "c=32, one node: requests per second",
      wanted: "≥ 4,000",
      measured: Math.round(speed(crowd.postgres)).toLocaleString("en"),
      met: speed(crowd.postgres) >= 4000,
    },
    atLeast("two nodes on one key, of one node on many", 0.8, hotKey / manyKeys),
    {
      what: "1,000 paced streams: every event arrives",
      wanted: `= ${eventsWanted}`,
      measured: String(eventsSeen),
      met: eventsSeen === eventsWanted && failures === 0,
    },
    below("1,000 paced streams: first event after SQLite's", 5, laterMs, "ms"),
  ];
}

export function clusterReport(results: ClusterResults, bars: readonly Bar[]): string {
  const { alone, crowd, manyKeys, hotKey } = results;
  const row = (
    name: string,
    { requestsPerSecond, cpuMicrosPerRequest, p50Micros, p99Micros }: MedianMetrics,
  ) => [
    name,
    Math.round(requestsPerSecond).toLocaleString("en"),
    cpuMicrosPerRequest.toFixed(1),
    Math.round(p50Micros).toString(),
    Math.round(p99Micros).toString(),
  ];
  const rows = [
    ["chat, JSON, 1 KB", "req/s", "CPU µs", "p50 µs", "p99 µs"],
    row("SQLite, c=1", alone.sqlite),
    row("PostgreSQL, c=1", alone.postgres),
    row("SQLite, c=32", crowd.sqlite),
    row("PostgreSQL, c=32", crowd.postgres),
  ];
  return [
    `${results.machine}, ${results.startedAt}, ${Math.round(results.seconds)} s`,
    "",
    align(rows, [0]),
    "",
    `one node, a key for each of 32 connections: ${Math.round(manyKeys).toLocaleString("en")} req/s; ` +
      `two nodes, one key, 32 connections each: ${Math.round(hotKey).toLocaleString("en")} req/s`,
    "",
    align(barRows(bars), [0, 3]),
  ].join("\n");
}
