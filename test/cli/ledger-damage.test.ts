import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPlace, sluice } from "./fixtures.ts";

test("a command without a gateway says that charges may be missing, also if what is left is consistent", async () => {
  const place = newPlace();
  await sluice(place, "keys", "create", "--mode", "credit", "--credit", "1");
  expect((await sluice(place, "ledger", "audit")).stderr).toBe("");
  const text = "The ledger's log was damaged at frame 7.";
  writeFileSync(
    join(place.folder, "sluice-data", "sluice.log-damaged"),
    JSON.stringify({ atMs: Date.now(), text }),
  );
  const audit = await sluice(place, "ledger", "audit");
  expect(audit.stdout).toContain("1 account, 1 entry, no difference");
  expect(audit.stderr).toBe(`${text}\n`);
});
