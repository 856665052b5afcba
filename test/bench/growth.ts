import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Cell } from "./cells.ts";
import { fillStore } from "./fill.ts";
import { startSluice } from "./gateways.ts";
import type { LoadProcess } from "./load-process.ts";
import { type MedianMetrics, measureInTurns, type Pace } from "./rounds.ts";

export const grown = { keys: 10_000, records: 1_000_000 };

export const growthCell: Cell = { route: "chat", size: "1 KB", stream: false, concurrency: 32 };

/** A tenth is little next to a machine's noise, so there are more rounds than elsewhere. */
const pace: Pace = { rounds: 17, windowMs: 300, mostWarmupMs: 6000 };

/** The same cell on an empty database and on one with a history. */
export interface GrowthFigures {
  readonly empty: MedianMetrics;
  readonly filled: MedianMetrics;
  readonly emptyStartMs: number;
  readonly filledStartMs: number;
}

export interface GrowthOptions {
  readonly cache: string;
  readonly folder: string;
  readonly providerUrl: string;
}

export async function measureGrowth(load: LoadProcess, options: GrowthOptions): Promise<GrowthFigures> {
  const { cache, folder, providerUrl } = options;
  const history = await provideHistory(cache);
  const filledFolder = join(folder, "filled");
  cpSync(join(history, "data"), join(filledFolder, "data"), { recursive: true });
  const secret = await Bun.file(join(history, "key")).text();
  const empty = await startSluice(join(folder, "empty"), providerUrl);
  const filled = await startSluice(filledFolder, providerUrl, { secret });
  const [emptyFigures, filledFigures] = await measureInTurns(load, growthCell, [empty, filled], pace);
  await Promise.all([empty.stop(), filled.stop()]);
  if (emptyFigures === undefined || filledFigures === undefined) throw new Error("a gateway has no figures");
  return {
    empty: emptyFigures,
    filled: filledFigures,
    emptyStartMs: empty.startMs,
    filledStartMs: filled.startMs,
  };
}

/** Made once for a schema and kept in the cache, because it takes most of a minute; runs work on a copy. */
async function provideHistory(cache: string): Promise<string> {
  const schema = Bun.hash(readMigrations()).toString(36);
  const folder = join(cache, `history-${grown.keys}-${grown.records}-${schema}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const { credit } = await fillStore(join(unfinished, "data"), grown);
  writeFileSync(join(unfinished, "key"), credit.secret);
  renameSync(unfinished, folder);
  return folder;
}

function readMigrations(): string {
  const folder = new URL("../../src/store/sqlite/migrations", import.meta.url).pathname;
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}
