import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "./random.ts";
import { Simulation } from "./simulation.ts";

/** `SEED=n` replays one run; `SLUICE_SOAK=1` runs through the night. */
const replay = process.env["SEED"];
const runs = process.env["SLUICE_SOAK"] === "1" ? 100_000 : 500;
const steps = 150;
/** In memory where the system has such a place: an fsync there is free, and the ledger cannot tell. */
const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

async function simulate(seed: number): Promise<void> {
  const dir = mkdtempSync(join(parent, "sluice-simulation-"));
  try {
    await Simulation.run(new SeededRandom(seed), dir, steps);
  } catch (error) {
    throw new Error(`The simulation failed. Replay it with SEED=${seed}.`, { cause: error });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test(
  `the ledger agrees with the model and the database in ${replay ?? runs} random histories`,
  async () => {
    if (replay !== undefined) return simulate(Number(replay));
    const firstSeed = process.env["SLUICE_SOAK"] === "1" ? Date.now() % 1_000_000_000 : 1;
    for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) await simulate(seed);
    expect(runs).toBeGreaterThanOrEqual(500);
  },
  { timeout: 24 * 3_600_000 },
);
