import { systemClock } from "../../../src/base/clock.ts";
import { newId } from "../../../src/base/id.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { openStore } from "../../../src/store/open.ts";
import { settlement } from "../../ledger/fixtures.ts";
import { attempt, served } from "../../store/attempts.ts";
import { costing } from "../../support/rates.ts";
import { openAcknowledgements } from "../../support/recorded-disk/record.ts";
import { sharedReference, topUp } from "./top-up.ts";

/** Charges, tops up and stores responses until it is killed or its disk fails, and notes all that it has acknowledged. */
const [dir = "", keyList = ""] = process.argv.slice(2);
const keyIds = keyList.split(",");
const clock = systemClock;
/** So that the log begins again many times. */
const store = await openStore({ dir, clock, role: "gateway", maxLogPages: 60 });
const ledger = await Ledger.open({ store, clock, snapshot: await store.load() });
const acknowledged = openAcknowledgements(process.env["RECORDED_LOG"] ?? "");

async function chargeForever(keyId: string, concurrent: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const request = {
      keyId,
      exchangeId: newId("req_"),
      model: "house-model",
      requestedModel: null,
      labels: null,
    };
    const hold = await ledger.hold({ ...request, amount: 10 });
    ledger.progress(hold, { ...costing(3), served });
    if (count % 3 === 0) ledger.journalProgress();
    const settled = settlement(hold, 7, { attempts: [attempt()] }, { atMs: clock.wallMs() });
    await ledger.settle(hold, settled);
    acknowledged.add(hold.id);
    // All at once, a few, or one alone.
    if (count % 50 > 10 + concurrent * 8) await Bun.sleep(1);
  }
}

async function topUpForever(keyId: string): Promise<never> {
  for (;;) {
    const reference = sharedReference();
    await store.recordTopUp(topUp(keyId, reference));
    acknowledged.add(reference);
    await Bun.sleep(3);
  }
}

async function endWithTheDisk(): Promise<never> {
  while (store.problem?.endsProcess !== true) await Bun.sleep(5);
  process.exit(1);
}

process.stdout.write("started\n");
const charging = Array.from({ length: 8 }, (_, index) =>
  chargeForever(keyIds[index % keyIds.length] ?? "", index),
);
const work = [...charging, topUpForever(keyIds[0] ?? "")];
// What fails with the disk was not acknowledged.
for (const each of work) each.catch(() => {});
await endWithTheDisk();
