import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FindingView, KeyView } from "../../src/admin/views.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("status lists what needs attention, without a gateway too", async () => {
  const place = newPlace();
  await sluice(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const calm = await sluice(place, "status", "--check");
  expect([calm.code, calm.stdout]).toEqual([0, "✓ nothing needs attention\n"]);
  const create = ["keys", "create", "--mode", "credit", "--label", "trial", "--expires", "2d"];
  const { id } = await sluiceJson<KeyView>(place, ...create);
  expect(await sluiceJson<FindingView[]>(place, "status")).toMatchObject([
    {
      kind: "key_expires",
      severity: "warning",
      subject: { type: "key", id, label: "trial" },
      level: null,
      next: `sluice keys update ${id} --expires 30d`,
    },
  ]);
  expect((await sluice(place, "status", "--check")).code).toBe(1);
  const { code, stdout } = await sluice(place, "status");
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/warning +key_expires +The key trial expires at /),
  ]);
  expect(stdout).toContain(`sluice keys update ${id} --expires 30d`);
  expect((await sluice(place, "keys", "update", id, "--expires", "30d")).code).toBe(0);
  expect((await sluice(place, "status", "--check")).code).toBe(0);
});

test("a test of alerts is refused while they are off, and while the hook cannot be reached", async () => {
  const env = { HOOK: "http://127.0.0.1:1/hook-canary" };
  const place = newPlace({ env });
  const off = await sluice(place, "alerts", "test");
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining("alerts are off")]);
  writeFileSync(join(place.folder, "sluice.toml"), '[alerts]\nurl = "env:HOOK"');
  const away = await sluice(place, "alerts", "test");
  expect([away.code, away.stderr]).toEqual([
    1,
    expect.stringContaining("it cannot be reached (ECONNREFUSED)"),
  ]);
  expect(away.stderr).not.toContain("hook-canary");
});
