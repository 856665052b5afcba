import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { type KeyJson, newPlace, sluiceJson } from "./fixtures.ts";

test("every change at the command line is in the audit log, and no secret is", async () => {
  const place = newPlace();
  const flags = ["--mode", "credit", "--credit", "1"];
  const limits =
    "--mode token_budget --budget 500 --period day --rpm 60 --provider demo --models demo-small,demo-large";
  const expires = "2031-01-31T00:00:00.000Z";
  await sluiceJson(place, "keys", "create", ...limits.split(" "), "--label", "Grace", "--expires", expires);
  const made = await sluiceJson<KeyJson & { key: string }>(place, "keys", "create", ...flags);
  const rotated = await sluiceJson<KeyJson & { key: string }>(place, "keys", "rotate", made.prefix);
  await sluiceJson(place, "keys", "topup", made.id, "2.5", "--reference", "invoice");
  await sluiceJson(place, "keys", "topup", made.id, "2.5", "--reference", "invoice");
  await sluiceJson(place, "keys", "update", made.id, "--label", "Ada", "--rpm", "5");
  await sluiceJson(place, "keys", "disable", made.id);
  await sluiceJson(place, "keys", "disable", made.id);
  await sluiceJson(place, "keys", "enable", made.id);
  await sluiceJson(place, "keys", "suspend", made.id);
  await sluiceJson(place, "keys", "revoke", made.id, "--yes");

  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "operator" });
  const rows = (await store.admin.listAudit({ limit: 100 })).toReversed();
  await store.close();
  expect(rows.map(({ action, detail }) => [action, detail])).toEqual([
    [
      "key.create",
      `token_budget, 500 tokens a day, rpm 60, provider demo, models demo-small demo-large, expires ${expires}`,
    ],
    ["key.create", "credit, 1 credit"],
    ["key.rotate", `was ${made.prefix}, grace 0 s`],
    ["key.topup", "+2.5 credits"],
    ["key.topup", "+2.5 credits (reference already used, nothing changed)"],
    ["key.update", "label, rpm none → 5"],
    ["key.disable", null],
    ["key.enable", null],
    ["key.suspend", null],
    ["key.revoke", null],
  ]);
  expect(new Set(rows.map(({ actor }) => actor))).toEqual(new Set(["cli"]));
  const user = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
  const expected = process.env["SUDO_USER"] ? `${process.env["SUDO_USER"]} as ${user}` : user;
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set([expected]));
  const written = JSON.stringify(rows);
  expect(written).not.toContain("Grace");
  expect(written).not.toContain(made.key);
  expect(written).not.toContain(rotated.key);
});
