import { expect, test } from "bun:test";
import { join } from "node:path";
import type { CapDetailView, CapValueView } from "../../src/admin/caps/schema.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { openStore } from "../../src/store/open.ts";
import { settleItem } from "../store/fixtures.ts";
import { type KeyJson, newPlace, sluiceJson } from "./fixtures.ts";

test("values near a limit are listed of all caps, or of those that count each value of a label", async () => {
  const place = newPlace();
  const { id } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "50");
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  const spent = (labels: Record<string, string>, credits: number) => {
    const now = Date.now();
    const times = { atMs: now, countedAtMs: now, labels: JSON.stringify(labels) };
    return settleItem(id, credits * nanoPerCredit, times);
  };
  await store.commit([spent({ owner: "ada", user: "u1" }, 9), spent({ owner: "ben", user: "u2" }, 2)]);
  await store.close();
  const add = (...words: string[]) => sluiceJson<CapDetailView>(place, "caps", "add", "10/month", ...words);
  const [owners, users] = [await add("--each", "owner"), await add("--each", "user", "--optional")];
  const near = async (...words: string[]) => {
    const values = await sluiceJson<CapValueView[]>(place, "caps", "list", "--near", "80%", ...words);
    return values.map(({ cap, value }) => [cap, value]);
  };
  expect((await near()).toSorted()).toEqual(
    [
      [owners.id, "ada"],
      [users.id, "u1"],
    ].toSorted(),
  );
  expect(await near("--each", "user")).toEqual([[users.id, "u1"]]);
  expect(await near("--each", "tag:project")).toEqual([]);
});
