import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/base/clock.ts";
import { newId } from "../../../src/base/id.ts";
import { openStore } from "../../../src/store/open.ts";
import { openAcknowledgements } from "../../support/recorded-disk/record.ts";
import { sharedReference, topUp } from "./top-up.ts";

/** Tops up. When its disk fails, stores a response, in pages that nothing before has written, and ends. */
const [dir = "", keyList = ""] = process.argv.slice(2);
const [keyId = ""] = keyList.split(",");
const store = await openStore({ dir, clock: systemClock, role: "gateway" });
const reference = sharedReference();
await store.recordTopUp(topUp(keyId, reference));
openAcknowledgements(process.env["RECORDED_LOG"] ?? "").add(reference);
while (readFileSync(process.env["FAILING_SYNC_FILE"] ?? "", "utf8") === "0") await Bun.sleep(5);
const body = crypto.getRandomValues(new Uint8Array(60_000));
await store.recordResponsePart({ recordingId: newId("rec_"), sequence: 0, body }).catch(() => {});
process.exit(store.problem?.endsProcess === true ? 1 : 0);
