import { readFileSync } from "node:fs";
import { audit } from "../../../src/ledger/audit.ts";
import type { Store } from "../../../src/store/store.ts";

/**
 * The files in this folder are from the last build before 001.sql was frozen: a gateway with three keys, caps, failures of
 * which retention has deleted some, and fallbacks, that was killed while a stream ran. `sqlite.json.zst` and `postgres.json.zst` are
 * what `factsOf` said there.
 */
function fileOf(name: string): Buffer {
  return readFileSync(new URL(name, import.meta.url));
}

/** A database file, and a dump. */
export const formerDatabase = (): Buffer => Bun.zstdDecompressSync(fileOf("sqlite.db.zst"));
export const formerDump = (): string => Bun.zstdDecompressSync(fileOf("postgres.sql.zst")).toString();

export function formerFacts(kind: "sqlite" | "postgres"): unknown {
  return JSON.parse(Bun.zstdDecompressSync(fileOf(`${kind}.json.zst`)).toString());
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const range = { sinceMs: Date.UTC(2026, 10, 1), untilMs: Date.UTC(2026, 11, 1) };

/** What a store says about its money and its usage. */
export async function factsOf(store: Store): Promise<unknown> {
  const { reports } = store;
  const days = [range.sinceMs / dayMs, range.untilMs / dayMs] as const;
  const facts = {
    audit: { ...(await audit(store)), anchor: undefined },
    sums: (await store.recomputeTotals()).toSorted((one, other) => (one.where < other.where ? -1 : 1)),
    byKey: await reports.usageByAll(["key", "model", "provider"], range),
    byHour: await reports.usageInSteps({ ...range, stepMs: hourMs }),
    latency: await reports.latencyInSteps({ ...range, stepMs: dayMs }),
    attempts: [
      (await Array.fromAsync(reports.attemptPages("demo", ...days))).flat(),
      (await Array.fromAsync(reports.attemptPages("dead", ...days))).flat(),
    ],
  };
  const text = JSON.stringify(facts, (_, value) => (typeof value === "bigint" ? String(value) : value));
  return JSON.parse(text);
}
