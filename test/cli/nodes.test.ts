import { expect, test } from "bun:test";
import { NodeWorld } from "../store/postgres/node/world.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("a data folder has no nodes, and the command says what has", async () => {
  const place = newPlace();
  await sluice(place, "keys", "create", "--mode", "credit");
  const { code, stderr } = await sluice(place, "nodes");
  expect(code).toBe(1);
  expect(stderr).toContain("nodes need PostgreSQL");
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("the gateways of a database are listed, for people and for programs", async () => {
    await using world = await NodeWorld.create();
    const place = newPlace({ env: { SLUICE_STORE: world.database.url } });
    expect((await sluice(place, "nodes")).stdout).toContain("No gateway has joined.");
    const { node } = await world.join();
    const [line, ...others] = await sluiceJson<Record<string, unknown>[]>(place, "nodes");
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      node: node.no,
      name: "test",
      version: "1.0.0",
      state: "live",
      in_flight: 0,
      holds: 0,
    });
    expect(Date.parse(String(line?.["since"]))).toBeGreaterThan(0);
    expect(Date.parse(String(line?.["heartbeat_at"]))).toBeGreaterThan(0);
    const { stdout } = await sluice(place, "nodes");
    expect(stdout).toMatch(/NODE +NAME +STATE +VERSION/);
    expect(stdout).toMatch(/test +live +1\.0\.0/);
    await world.client.query("UPDATE nodes SET beat_at = beat_at - interval '5 minutes'");
    expect((await sluice(place, "nodes")).code).toBe(0);
  });
