import { expect } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { openStore } from "../../../src/store/open.ts";
import { openGatewayStore } from "../../store/sqlite/fixtures.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";
import type { DiskEvent } from "../../support/recorded-disk/record.ts";
import { UnsyncedFile } from "../../support/recorded-disk/unsynced-file.ts";

/** In memory where possible: what is left after a power cut is written and opened thousands of times. */
const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export interface PowerCuts {
  /** The database before the first event. It had no log. */
  readonly before: Buffer;
  readonly events: readonly DiskEvent[];
  readonly cuts: number;
  readonly seed: number;
  /** The first and the last moment at which the power may be cut; any if absent. */
  readonly between?: readonly [first: number, last: number];
}

/** What the checked cuts had to survive. */
export interface Survived {
  readonly acknowledged: number;
  readonly logBeginnings: number;
  readonly databaseSyncs: number;
}

/**
 * Cuts the power at random moments, opens what is left, and expects every acknowledged charge and top-up there, and books that
 * agree. An acknowledgement counts from the moment at which it was given.
 */
export async function survivePowerCuts(given: PowerCuts): Promise<Survived> {
  const { before, events, cuts, seed, between: [first, last] = [0, given.events.length - 1] } = given;
  const random = seededRandom(seed);
  const database = new UnsyncedFile(random, before);
  const log = new UnsyncedFile(random, Buffer.alloc(0));
  const acknowledged = new Set<string>();
  const moments = new Set(Array.from({ length: cuts }, () => first + random.below(last - first + 1)));
  let [logBeginnings, databaseSyncs] = [0, 0];
  for (const [index, event] of events.entries()) {
    if (event.kind === "acknowledged") acknowledged.add(event.data.toString());
    if (event.file === "log") log.happen(event);
    if (event.file === "database") database.happen(event);
    if (event.file === "log" && event.kind === "write" && event.offset === 0) logBeginnings += 1;
    if (event.file === "database" && event.kind === "synced") databaseSyncs += 1;
    if (!moments.has(index)) continue;
    const found = await open(database.afterPowerCut(), log.afterPowerCut(), random);
    const where = `SEED=${seed}, after event ${index} of ${events.length}`;
    expect({ where, lost: [...acknowledged].filter((id) => !found.ids.has(id)) }).toEqual({
      where,
      lost: [],
    });
    expect({ where, differences: found.differences }).toEqual({ where, differences: [] });
  }
  return { acknowledged: acknowledged.size, logBeginnings, databaseSyncs };
}

/** A gateway takes longer to open, because it fills its reserve; a command recovers the log in the same way. */
async function open(database: Buffer, log: Buffer, random: SeededRandom) {
  const dir = mkdtempSync(join(fastFolder, "sluice-power-"));
  try {
    writeFileSync(join(dir, "sluice.db"), database);
    writeFileSync(join(dir, "sluice.db-wal"), log);
    const isGateway = random.chance(0.1);
    const store = await (isGateway
      ? openGatewayStore(dir, systemClock)
      : openStore({ dir, clock: systemClock, role: "operator" }));
    const entries = await store.listEntries({ afterId: 0, limit: 10_000_000 });
    const { differences } = await audit(store);
    await store.close();
    const ids = entries.flatMap(({ exchangeId, reference }) => exchangeId ?? reference ?? []);
    return { ids: new Set(ids), differences };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
