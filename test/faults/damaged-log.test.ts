import { expect, test } from "bun:test";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startSluice } from "../support/sluice.ts";

interface AlertLine {
  readonly kind: string;
  readonly severity: string;
}

test("a gateway whose log lost acknowledged changes to a damaged frame says so at its start, and raises an alert", async () => {
  await using sluice = await startSluice();
  const log = join(sluice.folder, "data", "sluice.db-wal");
  await sluice.createKey();
  const { size } = statSync(log);
  for (let created = 0; created < 4; created += 1) await sluice.createKey();
  await sluice.kill9();
  const descriptor = openSync(log, "r+");
  writeSync(descriptor, Uint8Array.of(0xde, 0xad), 0, 2, size + 1_000);
  closeSync(descriptor);
  await sluice.restart();
  await sluice.told('{"level":50');
  await sluice.told("acknowledged charges may be missing");
  const alerts = await sluice.cliJson<readonly AlertLine[]>("status");
  expect(alerts).toContainEqual(expect.objectContaining({ kind: "ledger_damaged", severity: "critical" }));
}, 60_000);
