import { expect, test } from "bun:test";
import { join } from "node:path";
import type { UsageView } from "../../src/admin/reports/schema.ts";
import type { AlertView } from "../../src/admin/system/alert-schema.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { settleItem } from "../store/fixtures.ts";
import { type KeyJson, newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("what was not charged is in usage as text, CSV and JSON, and in status with the command that shows whose it was", async () => {
  const place = newPlace();
  const { id } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  await store.commit([settleItem(id, 1_000_000_000, { atMs: Date.now(), overrun: 250_000_000 })]);
  await store.close();
  const { stdout } = await sluice(place, "usage");
  expect(stdout).toContain("OVERRUN");
  expect(stdout).toContain("0.25");
  expect((await sluice(place, "usage", "--csv")).stdout).toMatch(/^[^\n]*,overrun,overrun_tokens,/);
  expect((await sluiceJson<UsageView>(place, "usage", "--by", "key")).data).toMatchObject([
    { spend: 1, overrun: 0.25, overrun_tokens: 0 },
  ]);
  const findings = await sluiceJson<AlertView[]>(place, "status");
  const finding = findings.find(({ kind }) => kind === "overrun");
  expect(finding).toMatchObject({ severity: "warning", next: "sluice usage --by=key --since=24h" });
  const [, ...words] = finding?.next.split(" ") ?? [];
  const next = await sluice(place, ...words);
  expect([next.code, next.stdout]).toEqual([0, expect.stringContaining("OVERRUN")]);
});
