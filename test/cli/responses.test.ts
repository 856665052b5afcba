import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { settleItem } from "../store/fixtures.ts";
import { type KeyJson, newPlace, sluice, sluiceJson } from "./fixtures.ts";

const keptAtMs = Date.now();

function turn(keyId: string, id: string) {
  return {
    keyId,
    id,
    parentId: null,
    model: "m",
    provider: "p",
    createdAtMs: keptAtMs,
    expiresAtMs: keptAtMs + 3_600_000,
    bytes: 500,
    items: [],
    body: new TextEncoder().encode("a private matter"),
    keyBytes: 10_000,
  };
}

test("an operator sees how many responses a key has, never what they say, and deletes them", async () => {
  const place = newPlace();
  const { id, prefix } = await sluiceJson<KeyJson>(
    place,
    "keys",
    "create",
    "--mode",
    "credit",
    "--credit",
    "1",
  );
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  for (const name of ["resp_1", "resp_2", "conv_1"])
    await store.commit([{ ...settleItem(id, 1), turns: [turn(id, name)] }]);
  await store.close();

  const at = new Date(keptAtMs).toISOString();
  const list = () => sluiceJson<object>(place, "responses", "list", "--key", prefix);
  expect(await list()).toEqual({
    key: prefix,
    responses: 2,
    conversations: 1,
    bytes: 1500,
    oldest: at,
    newest: at,
  });
  const shown = await sluice(place, "responses", "list", "--key", prefix);
  expect(shown.stdout).toContain("2 responses and 1 conversation stored");
  expect(shown.stdout).not.toContain("private");
  expect((await sluice(place, "responses", "delete", "--key", prefix)).code).not.toBe(0);
  expect(await sluiceJson<object>(place, "responses", "delete", "--key", prefix, "--yes")).toEqual({
    key: prefix,
    deleted: 3,
  });
  expect(await list()).toEqual({
    key: prefix,
    responses: 0,
    conversations: 0,
    bytes: 0,
    oldest: null,
    newest: null,
  });
});
