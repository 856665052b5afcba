import { expect, test } from "bun:test";
import { journaledKinds } from "../store/each-journal.ts";
import type { JournaledDatabase, StoreKind } from "../store/kind.ts";
import { isFast, isSoak } from "../support/effort.ts";
import { SeededRandom } from "./random.ts";
import { Simulation } from "./simulation.ts";

/** `SEED=n` replays one run; `SLUICE_SOAK=1` runs through the night; `test:fast` runs a few. */
const replay = process.env["SEED"];
const runs = isSoak ? 100_000 : isFast ? 5 : 20;
const steps = 600;

async function simulate(kind: StoreKind<JournaledDatabase>, seed: number): Promise<readonly string[]> {
  await using database = await kind.create({ isVolatile: true });
  try {
    return await Simulation.run(new SeededRandom(seed), database, steps);
  } catch (error) {
    throw new Error(`The simulation failed. Replay it with SEED=${seed}.`, { cause: error });
  }
}

test.each(journaledKinds)(
  `the ledger agrees with the model and the database in ${replay ?? runs} random histories ($name)`,
  async (kind) => {
    if (replay !== undefined) {
      await simulate(kind, Number(replay));
      return;
    }
    const firstSeed = isSoak ? Date.now() % 1_000_000_000 : 1;
    for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) await simulate(kind, seed);
  },
  { timeout: 24 * 3_600_000 },
);

test.each(journaledKinds)(
  "a history is the same whenever it is run ($name)",
  async (kind) => {
    const [first, second] = [await simulate(kind, 7), await simulate(kind, 7)];
    expect(second).toEqual(first);
  },
  60_000,
);
