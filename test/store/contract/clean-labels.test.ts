import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { audit } from "../../../src/ledger/audit.ts";
import type { NewValueCap } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import type { TestDatabase } from "../kind.ts";
import { runIn } from "../postgres/fixtures.ts";

/** As a database is that an earlier release has written. */
async function forget({ location }: TestDatabase): Promise<void> {
  if ("url" in location) return void (await runIn(location, "DELETE FROM cleaned_labels"));
  using database = new Database(join(location.dir, "sluice.db"));
  database.run("DELETE FROM cleaned_labels");
}

function capOf(id: string, value: string | null, label = "owner"): NewValueCap {
  return {
    ...{ id, keyId: null, accountId: null, mode: "credit", label, value, limit: 1_000, period: "day" },
    ...{ models: null, isOptional: label !== "owner", maxValues: 10, thenModel: null, thenAlways: false },
  };
}

testEachStore("values of labels that look the same become one, with what each has used", async (database) => {
  const clock = new FakeClock();
  const before = await database.openGateway(clock);
  const key = keyRecord({ owner: " Zoe\u0308" });
  await before.insertKey(key, 10_000);
  const odd = [" Zoe\u0308", "Zo\u00eb", "Zo\u00eb\u200b"];
  const charges = odd.map((owner, n) =>
    settleItem(key.id, 10 ** n, { labels: JSON.stringify({ owner, "+user": ` u${n} ` }) }),
  );
  await before.charge(charges);
  await before.insertValueCap(capOf("cap_each", null), clock.wallMs());
  await before.insertValueCap(capOf("cap_one", " Zoe\u0308"), clock.wallMs());
  await before.insertValueCap(capOf("cap_users", null, "user"), clock.wallMs());
  await before.raiseValueCap("cap_each", 5, " Zoe\u0308", clock.wallMs());
  await before.raiseValueCap("cap_each", 7, "Zo\u00eb", clock.wallMs());
  const { valueTotals } = await before.load();
  expect(valueTotals).toHaveLength(7);
  expect((await audit(before)).differences).toEqual([]);
  await before.close();
  await forget(database);

  const after = await database.openGateway(clock);
  const { keys, valueCaps, valueTotals: cleaned } = await after.load();
  expect(keys.find(({ id }) => id === key.id)?.owner).toBe("Zo\u00eb");
  expect(valueCaps.map(({ value }) => value)).toEqual([null, "Zo\u00eb", null]);
  const usedBy = cleaned.map(({ capNo, value, used, extra }) => {
    const { id = "" } = valueCaps.find(({ no }) => no === capNo) ?? {};
    return `${id} ${value} ${used} ${extra}`;
  });
  expect(usedBy.toSorted()).toEqual([
    "cap_each Zo\u00eb 111 12",
    "cap_one Zo\u00eb 111 0",
    "cap_users u0 1 0",
    "cap_users u1 10 0",
    "cap_users u2 100 0",
  ]);
  expect((await audit(after)).differences).toEqual([]);
  const { revision } = await after.load();
  await after.close();
  const again = await database.openGateway(clock);
  expect((await again.load()).revision).toBe(revision);
  await again.close();
});
