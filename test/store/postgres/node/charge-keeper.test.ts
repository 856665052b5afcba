import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { NodeEvent } from "../../../../src/store/node.ts";
import { endOf, type HoldEnd } from "../../../../src/store/postgres/lanes/hold-end.ts";
import { ChargeKeeper } from "../../../../src/store/postgres/node/charge-keeper.ts";
import { UnacknowledgedCharges, unmadeCharges } from "../../../../src/store/postgres/node/unacknowledged.ts";
import { temporaryFolder } from "../../fixtures.ts";
import { chargeOrder, holdOrder } from "./world.ts";

const databaseId = "database";
/** As it is read from a file. */
const charge: HoldEnd = JSON.parse(JSON.stringify(endOf(chargeOrder(holdOrder("key_1", 100), 60))));

test("the charges that an earlier process has left are copied, and its file goes", () => {
  using folder = folderWithCharge();
  const { keeper, events } = keeperOf(folder.dir);
  keeper.begin(2, databaseId);
  expect(keeper.adopt(databaseId)).toEqual([{ nodeNo: 1, isDead: true, ends: [charge] }]);
  expect(keeper.isKept(charge.id)).toBe(true);
  keeper.end();
  expect(readdirSync(folder.dir).filter((name) => !name.endsWith("-journal"))).toEqual(["sluice.node-2"]);
  expect(chargesLeftIn(folder.dir)).toEqual([charge]);
  expect(events).toEqual([]);
});

test("charges that cannot be copied stay in the file that has them", () => {
  using folder = folderWithCharge();
  const { keeper, events } = keeperOf(folder.dir);
  mkdirSync(join(folder.dir, "sluice.node-2"));
  keeper.begin(2, databaseId);
  expect(keeper.adopt(databaseId)).toEqual([{ nodeNo: 1, isDead: true, ends: [charge] }]);
  expect(keeper.isKept(charge.id)).toBe(false);
  keeper.end();
  expect(chargesLeftIn(folder.dir)).toEqual([charge]);
  expect(events.map(({ kind }) => kind)).toEqual(["unkept"]);
});

test("charges in the form of a build before the freeze stay in their file, and are reported", () => {
  using folder = folderWithCharge();
  const [file] = UnacknowledgedCharges.leftIn(folder.dir, databaseId);
  // Safe cast: a stand-in for what is in such a file.
  const former = { ...charge, charge: { at: 1, rates: {}, columns: [] } } as unknown as HoldEnd;
  file?.keep([former]);
  file?.close();
  const { keeper, events } = keeperOf(folder.dir);
  keeper.begin(2, databaseId);
  expect(keeper.adopt(databaseId)).toEqual([{ nodeNo: 1, isDead: true, ends: [] }]);
  keeper.end();
  expect(chargesLeftIn(folder.dir)).toEqual([former]);
  expect(events.map(({ kind }) => kind)).toEqual(["unkept"]);
});

test("what a node has kept goes along when it joins under another number", () => {
  using folder = temporaryFolder();
  const { keeper, events } = keeperOf(folder.dir);
  keeper.begin(1, databaseId);
  keeper.keep(charge);
  keeper.begin(2, databaseId);
  expect(keeper.isKept(charge.id)).toBe(true);
  // The process dies here.
  keeper.end();
  expect(readdirSync(folder.dir).filter((name) => !name.endsWith("-journal"))).toEqual(["sluice.node-2"]);
  expect(chargesLeftIn(folder.dir)).toEqual([charge]);
  expect(events).toEqual([]);
});

test("charges that were meant for another database stay where they are", () => {
  using folder = folderWithCharge();
  const { keeper } = keeperOf(folder.dir);
  keeper.begin(2, "another");
  expect(keeper.adopt("another")).toEqual([]);
  expect(unmadeCharges(folder.dir, "another")).toBe(0);
  keeper.end();
  expect(unmadeCharges(folder.dir, databaseId)).toBe(1);
  expect(chargesLeftIn(folder.dir)).toEqual([charge]);
});

function folderWithCharge() {
  const folder = temporaryFolder();
  const file = UnacknowledgedCharges.create(folder.dir, 1, databaseId);
  file.keep([charge]);
  file.close();
  return folder;
}

function keeperOf(dir: string) {
  const events: NodeEvent[] = [];
  return { keeper: new ChargeKeeper({ dir, report: (event) => events.push(event) }), events };
}

function chargesLeftIn(dir: string) {
  return UnacknowledgedCharges.leftIn(dir, databaseId).flatMap((file) => {
    const ends = file.all();
    file.close();
    return ends;
  });
}
