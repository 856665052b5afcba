/**
 * How long the dashboard's data takes with a large history: `bun test/bench/pages.ts [records] [keys]`.
 * Every page is requested five times from a gateway that has just started; the first time and the median are printed.
 */
import { join } from "node:path";
import { Sluice } from "../support/sluice.ts";
import { fillStore } from "./fill.ts";

const records = Number(process.argv[2] ?? 1_000_000);
const keys = Number(process.argv[3] ?? 10_000);
const token = "bench-admin-token";
const times = 5;

await using sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: token } });
await sluice.stop();
console.log(`filling ${records} exchanges of ${keys} keys …`);
const { credit } = await fillStore(join(sluice.folder, "data"), { keys, records });
await sluice.restart();

const pages: Readonly<Record<string, string>> = {
  "overview, 1 h": "/overview?range=1h",
  "overview, 24 h": "/overview?range=24h",
  "overview, 7 d": "/overview?range=7d",
  "overview, 30 d": "/overview?range=30d",
  keys: "/keys?limit=25",
  "keys, searched": "/keys?limit=25&search=credit%2099",
  "a key": `/keys/${credit.key.id}`,
  "a key's exchanges": `/requests?limit=10&key=${credit.key.id}`,
  "a key's entries": `/entries?limit=10&key=${credit.key.id}`,
  models: "/models",
  exchanges: "/requests?limit=50",
  "exchanges, of nobody": "/requests?limit=50&model=nobody",
  system: "/health",
  "a year by day": `/usage?by=day&since=${new Date(Date.now() - 365 * 86_400_000).toISOString()}`,
  "a year by model": `/usage?by=model&since=${new Date(Date.now() - 365 * 86_400_000).toISOString()}`,
};

async function tookMs(path: string): Promise<number> {
  const startedMs = performance.now();
  const headers = { authorization: `Bearer ${token}` };
  const response = await sluice.request(`/admin/api/v1${path}`, { headers });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${path} gave ${response.status}`);
  return performance.now() - startedMs;
}

console.log(`${"page".padEnd(24)}${"first".padStart(10)}${"median".padStart(10)}`);
for (const [name, path] of Object.entries(pages)) {
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) all.push(await tookMs(path));
  const median = all.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
  const cell = (ms: number) => `${ms.toFixed(1)} ms`.padStart(10);
  console.log(`${name.padEnd(24)}${cell(all[0] ?? 0)}${cell(median)}`);
}
