import { expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { openStore } from "../../src/store/open.ts";
import { keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { seededRandom } from "../support/random.ts";

const cycles = process.env["SLUICE_SOAK"] === "1" ? 100 : 3;
/** Decides on the moments at which processes are killed; named by the tests, so that they can be had again. */
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const script = new URL("./charging-process.ts", import.meta.url).pathname;

/** Lets a process charge for a moment, kills it without warning, and returns what it had acknowledged. */
async function chargeAndKill(
  dir: string,
  keyId: string,
  journal: string,
  afterMs: number,
): Promise<readonly string[]> {
  const charging = Bun.spawn({
    cmd: [process.execPath, script, dir, keyId, journal],
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let told = "";
  let isKilled = false;
  for await (const bytes of charging.stdout) {
    told += decoder.decode(bytes, { stream: true });
    if (isKilled) continue;
    isKilled = true;
    setTimeout(() => charging.kill("SIGKILL"), afterMs);
  }
  await charging.exited;
  const lines = told.split("\n");
  // The last line may have been cut off by the kill; it says nothing.
  return lines.slice(0, -1);
}

test.each(["inline", "thread"])(
  `what was acknowledged before a kill -9 is charged after it, once (%s, SEED=${seed})`,
  async (journal) => {
    using folder = temporaryFolder();
    const setup = await openStore({ dir: folder.dir, clock: systemClock, role: "operator" });
    const key = keyRecord();
    await setup.insertKey(key, 1_000_000_000);
    await setup.close();
    const acknowledged: string[] = [];
    const random = seededRandom(seed);
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      acknowledged.push(...(await chargeAndKill(folder.dir, key.id, journal, 20 + random.below(100))));
      const store = await openStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
      await Ledger.open({ store, clock: systemClock, snapshot: await store.load() });
      const entries = await store.listEntries({ afterId: 0, limit: 10_000_000 });
      const charges = entries.filter(({ kind }) => kind === "charge");
      const completed = new Set(
        charges.filter(({ outcome }) => outcome === "completed").map(({ exchangeId }) => exchangeId),
      );
      expect(acknowledged.filter((id) => !completed.has(id))).toEqual([]);
      expect(new Set(charges.map(({ exchangeId }) => exchangeId)).size).toBe(charges.length);
      expect((await store.load()).openHolds).toEqual([]);
      expect((await audit(store)).differences).toEqual([]);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThan(0);
  },
  { timeout: 600_000 },
);
