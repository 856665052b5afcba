import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { adminToken } from "./gateways.ts";

export interface JournalFigures {
  readonly batches: number;
  readonly items: number;
  /** Everything in the data folder. */
  readonly megabytes: number;
}

/** Read where an operator would read it: from the gateway's metrics and its data folder. */
export async function readJournal(url: string, dataFolder: string): Promise<JournalFigures> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1] ?? 0);
  const bytes = readdirSync(dataFolder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(dataFolder, entry.name)).size, 0);
  return {
    batches: value("sluice_journal_batches_total"),
    items: value("sluice_journal_items_total"),
    megabytes: bytes / 1_000_000,
  };
}
