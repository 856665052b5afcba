import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { openStore } from "../../src/store/open.ts";
import { costing } from "../support/rates.ts";
import { settlement } from "./fixtures.ts";

/**
 * Charges without end until it is killed, and says each exchange whose settle has resolved: that is the moment at
 * which a client would see the end of its response. Started by the test beside it, with the data folder and the key.
 */
const [dir = "", keyId = "", journal] = process.argv.slice(2);
const store = await openStore({
  dir,
  clock: systemClock,
  role: "gateway",
  journal: journal === "thread" ? "thread" : "inline",
});
const ledger = await Ledger.open({ store, clock: systemClock, snapshot: await store.load() });

async function chargeForever(): Promise<never> {
  for (;;) {
    const hold = ledger.hold({
      keyId,
      exchangeId: newId("req_"),
      model: "house-model",
      askedModel: null,
      amount: 10,
    });
    ledger.progress(hold, costing(3));
    ledger.journalProgress();
    await ledger.settle(hold, settlement(hold, 7));
    process.stdout.write(`${hold.id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, chargeForever));
