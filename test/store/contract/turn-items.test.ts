import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { TurnRecord } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";
import { clientOf } from "../postgres/fixtures.ts";
import { postgres } from "../postgres/kind.ts";
import { sqlite } from "../sqlite/kind.ts";

const bounds = { nowMs: 1_000, maxTurns: 10, maxBytes: 1_000, headBytes: 0, reserve: () => {}, turnIds: [] };
const turnIds = ["a", "b", "c"];

/** Stores turns that share an item, of two keys; then one is deleted and one is replaced. */
async function change(store: GatewayStore): Promise<void> {
  const [one, other] = [keyRecord(), keyRecord()];
  const turn = (keyId: string, id: string, items: readonly string[]): TurnRecord => ({
    keyId,
    id,
    parentId: null,
    model: "m",
    provider: "p",
    createdAtMs: 500,
    expiresAtMs: 2_000,
    bytes: 10,
    items,
    body: new Uint8Array(),
    keyBytes: 1_000,
  });
  const keep = (each: TurnRecord) => store.charge([{ ...settleItem(each.keyId, 1), turns: [each] }]);
  for (const key of [one, other]) {
    await store.insertKey(key, 1_000_000);
    for (const turnId of turnIds) await keep(turn(key.id, turnId, [`of-${turnId}`, "shared"]));
  }
  await store.turns.delete(one.id, "a", bounds.nowMs);
  await keep(turn(one.id, "b", ["new"]));
  const found = await store.turns.withItems({
    ...bounds,
    keyId: one.id,
    items: ["of-a", "of-b", "shared", "new"],
  });
  expect(found.kind === "found" && found.turns.map(({ id }) => id)).toEqual(["c", "b"]);
}

/** The items of the deleted and the replaced turn are gone; all others remain. */
const left = ["new", "of-c", "shared", "of-a", "of-b", "of-c", "shared", "shared", "shared"].toSorted();
const selectItems = "SELECT id_key FROM turn_items ORDER BY id_key";

test("the rows of a turn's items go with it (SQLite)", async () => {
  await using database = await sqlite.create();
  const store = await database.openGateway(new FakeClock());
  await change(store);
  await store.close();
  using raw = new Database(join(database.dir, "sluice.db"));
  expect(
    raw
      .query<{ id_key: string }, []>(selectItems)
      .all()
      .map(({ id_key }) => id_key),
  ).toEqual(left);
});

test.if(hasPostgres)(
  "the rows of a turn's items go with it (PostgreSQL)",
  async () => {
    await using database = await postgres.create();
    const store = await database.openGateway(new FakeClock());
    await change(store);
    const client = clientOf(database.url);
    const rows = await client.query<{ id_key: string }>(selectItems);
    expect(rows.map(({ id_key }) => id_key).toSorted()).toEqual(left);
    await client.close();
    await store.close();
  },
  30_000,
);
