import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import { openAcknowledgements } from "../../support/recorded-disk/record.ts";
import { sharedReference, topUp } from "./top-up.ts";

/** Does what commands do while a gateway runs, until it is killed, and records what it has acknowledged. */
const [dir = "", keyList = ""] = process.argv.slice(2);
const [keyId = ""] = keyList.split(",");
const acknowledged = openAcknowledgements(process.env["RECORDED_LOG"] ?? "");

for (let count = 0; ; count += 1) {
  const store = await openStore({ dir, clock: systemClock, role: "operator" });
  for (let time = 0; time < 5; time += 1) {
    const reference = sharedReference();
    await store.recordTopUp(topUp(keyId, reference));
    acknowledged.add(reference);
    await Bun.sleep(2);
  }
  if (count % 4 === 0) {
    const copy = join(dir, `copy-${count}.db`);
    await store.files?.backup(copy);
    rmSync(copy);
  }
  await store.close();
}
