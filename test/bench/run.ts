import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isJudged } from "./bars.ts";
import { type Cell, cellName, fullGrid, shortList } from "./cells.ts";
import { contentName, measureContent } from "./content.ts";
import { continuedName, measureContinued } from "./continued.ts";
import { type Gateway, startBare, startProvider, startSluice } from "./gateways.ts";
import { growthCell, measureGrowth } from "./growth.ts";
import { readJournal } from "./journal.ts";
import { type LoadProcess, startLoad } from "./load-process.ts";
import { measurePaced } from "./paced.ts";
import { type Pacing, pacings } from "./payloads.ts";
import { startPeers } from "./peers.ts";
import { processorName, residentMegabytes } from "./proc.ts";
import { cellLine, contentLines, pacedLines } from "./report.ts";
import type { CellResult, PacedResult, Results } from "./results.ts";
import { type MedianMetrics, measureInTurns, type Pace } from "./rounds.ts";
import { measureSocket, socketName } from "./socket.ts";

export interface RunOptions {
  readonly full: boolean;
  /** Only cells and paced streams whose name contains this; growth is left out then. */
  readonly only: string | null;
  /** Another build of the program, measured in the same turns. */
  readonly other: string | null;
  readonly progress: (line: string) => void;
}

/** In the checkout, because a temporary folder may live in memory, where a fsync costs nothing. */
const cache = join(import.meta.dir, "../../node_modules/.cache/sluice-bench");

const fullPace: Pace = { rounds: 9, windowMs: 600, mostWarmupMs: 45_000 };
/** For cells that a bar is about, in a run that one waits for; the others get less. */
const shortPace: Pace = { rounds: 9, windowMs: 300, mostWarmupMs: 45_000 };
const briefPace: Pace = { rounds: 3, windowMs: 300, mostWarmupMs: 8000 };

export async function runBench({ full, only, other: program, progress }: RunOptions): Promise<Results> {
  const startedAt = new Date();
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "run-"));
  const notes: string[] = [];
  const load = startLoad();
  const provider = await startProvider(folder);
  const providerUrl = provider.target(growthCell).url;
  try {
    const cells = full ? fullGrid() : shortList();
    const named = cells.filter((cell) => cellName(cell) === only);
    const wanted = named.length > 0 ? named : cells.filter((cell) => cellName(cell).includes(only ?? ""));
    const embeds = wanted.some(({ route }) => route === "embeddings");
    const sluice = await startSluice(join(folder, "sluice"), providerUrl, { embeds });
    const bare = await startBare(folder, providerUrl);
    const other =
      program === null
        ? null
        : await startSluice(join(folder, "other"), providerUrl, { name: "other", program, embeds });
    const peers = wanted.some(isPeersCell) ? await startPeers({ cache, folder, providerUrl }, notes) : [];
    await Bun.sleep(1000);
    const idleMegabytes = residentMegabytes(sluice.pid);

    const measured: CellResult[] = [];
    const pace = full ? fullPace : shortPace;
    for (const cell of wanted) {
      const its = full || isJudged(cell) ? pace : briefPace;
      const result = await measureCell(load, cell, { provider, bare, sluice, other, peers }, its);
      progress(cellLine(result));
      measured.push(result);
    }
    const loadedMegabytes = residentMegabytes(sluice.pid);
    const isContinued = only === null || continuedName.includes(only);
    if (isContinued) progress(continuedName);
    const continued = isContinued ? await measureContinued(sluice.target(growthCell)) : null;
    const isOnSocket = only === null || socketName.includes(only);
    if (isOnSocket) progress(socketName);
    const socket = isOnSocket ? await measureSocket(load, sluice) : null;
    const journal = await readJournal(sluice.target(growthCell).url, join(folder, "sluice/data"));
    await Bun.sleep(3000);
    const afterwardsMegabytes = residentMegabytes(sluice.pid);
    await Promise.all([sluice, bare, other, ...peers].map((each) => each?.stop()));

    const isContent = only === null || contentName.includes(only);
    if (isContent) progress(contentName);
    const content = isContent ? await measureContent(load, { folder, providerUrl }) : null;
    if (content !== null) contentLines(content).forEach(progress);
    const paced: PacedResult[] = [];
    for (const pacing of pacings.filter(({ name }) => name.includes(only ?? ""))) {
      const result = await runPaced(load, pacing, folder, providerUrl, program);
      pacedLines(result).forEach(progress);
      paced.push(result);
    }
    if (only === null) progress("growth");
    const growth = only === null ? await measureGrowth(load, { cache, folder, providerUrl }) : null;
    return {
      machine: `${processorName()}, ${availableParallelism()} cores, Bun ${Bun.version}`,
      startedAt: startedAt.toISOString(),
      seconds: (Date.now() - startedAt.getTime()) / 1000,
      cells: measured,
      paced,
      memory: { idleMegabytes, loadedMegabytes, afterwardsMegabytes },
      journal,
      growth,
      continued,
      socket,
      content,
      notes,
    };
  } finally {
    load.stop();
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The cell that other gateways are measured in. */
function isPeersCell(cell: Cell): boolean {
  return Bun.deepEquals(cell, growthCell);
}

interface Contestants {
  readonly provider: Gateway;
  readonly bare: Gateway;
  readonly sluice: Gateway;
  readonly other: Gateway | null;
  readonly peers: readonly Gateway[];
}

/** The provider itself takes part where waiting times are compared, the peers in one cell. */
async function measureCell(
  load: LoadProcess,
  cell: Cell,
  { provider, bare, sluice, other, peers }: Contestants,
  pace: Pace,
): Promise<CellResult> {
  const gateways = [
    bare,
    sluice,
    ...(other === null ? [] : [other]),
    ...(cell.concurrency === 1 ? [provider] : []),
    ...(isPeersCell(cell) ? peers : []),
  ];
  const measured = await measureInTurns(load, cell, gateways, pace);
  const figures: Partial<Record<Gateway["name"], MedianMetrics>> = {};
  for (const [index, gateway] of gateways.entries()) {
    const its = measured[index];
    if (its !== undefined) figures[gateway.name] = its;
  }
  return { cell, figures };
}

async function runPaced(
  load: LoadProcess,
  pacing: Pacing,
  folder: string,
  providerUrl: string,
  program: string | null,
): Promise<PacedResult> {
  const bare = await startBare(folder, providerUrl);
  const bareFigures = await measurePaced(load, bare, pacing);
  await bare.stop();
  const sluice = await startSluice(join(folder, pacing.provider), providerUrl);
  const sluiceFigures = await measurePaced(load, sluice, pacing);
  await sluice.stop();
  if (program === null) return { pacing, bare: bareFigures, sluice: sluiceFigures, other: null };
  const other = await startSluice(join(folder, `${pacing.provider}-other`), providerUrl, {
    name: "other",
    program,
  });
  const otherFigures = await measurePaced(load, other, pacing);
  await other.stop();
  return { pacing, bare: bareFigures, sluice: sluiceFigures, other: otherFigures };
}
