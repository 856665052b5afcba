import { join } from "node:path";
import { type Cell, cellName } from "./cells.ts";
import { startSluice } from "./gateways.ts";
import type { LoadProcess } from "./load-process.ts";
import { type MedianMetrics, measureInTurns, type Pace } from "./rounds.ts";

/** The same requests by a gateway that records nothing and by one that records all. */
export interface ContentFigures {
  readonly json: ContentCell;
  readonly stream: ContentCell;
}

export interface ContentCell {
  readonly off: MedianMetrics;
  readonly on: MedianMetrics;
}

export const contentName = "content recorded";

const json: Cell = { route: "chat", size: "1 KB", stream: false, concurrency: 32 };
const stream: Cell = { ...json, stream: true };

/** Longer windows than elsewhere: content is written in batches, five times a second, and a window is to have several of them. */
const pace: Pace = { rounds: 13, windowMs: 1000, mostWarmupMs: 12_000 };

export async function measureContent(
  load: LoadProcess,
  { folder, providerUrl }: { readonly folder: string; readonly providerUrl: string },
): Promise<ContentFigures> {
  const off = await startSluice(join(folder, "content-off"), providerUrl);
  const on = await startSluice(join(folder, "content-on"), providerUrl, { recordsContent: true });
  const measure = async (cell: Cell): Promise<ContentCell> => {
    const [without, recorded] = await measureInTurns(load, cell, [off, on], pace);
    if (without === undefined || recorded === undefined) throw new Error(`${cellName(cell)}: no figures`);
    return { off: without, on: recorded };
  };
  try {
    return { json: await measure(json), stream: await measure(stream) };
  } finally {
    await Promise.all([off.stop(), on.stop()]);
  }
}
