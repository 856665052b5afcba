import { systemClock } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import { attempt, served } from "../store/attempts.ts";
import { costing } from "../support/rates.ts";
import { settlement } from "./fixtures.ts";
import { openAccounts } from "./real-accounts.ts";

/**
 * Charges until it is killed, and prints each exchange whose settle has resolved: the moment at which a client would see the
 * end of its response. Started by kill.test.ts, with the data folder and the keys.
 */
const [dir = "", keyIds = "", where = ""] = process.argv.slice(2);
const { accounts } = await openAccounts(dir, where);

async function chargeForever(keyId: string, place: number): Promise<never> {
  const owner = `person-${place % 5}@example.com`;
  for (let n = 0; ; n += 1) {
    try {
      const request = {
        keyId,
        exchangeId: newId("req_"),
        model: "house-model",
        requestedModel: null,
        labels: JSON.stringify({ owner, ...(n % 3 > 0 && { user: `u${n % 7}` }), "tag:project": "atlas" }),
        amount: 10,
      };
      const hold = await accounts.hold(request);
      accounts.progress(hold, { ...costing(3), served });
      accounts.journalProgress();
      await accounts.settle(
        hold,
        settlement(hold, 7, { attempts: [attempt()] }, { atMs: systemClock.wallMs() }),
      );
      process.stdout.write(`${hold.id}\n`);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // A cap is used up, or held by the others: until they have ended. The line says that it is at work.
      process.stdout.write("\n");
      await Bun.sleep(1);
    }
  }
}

await Promise.all(
  keyIds
    .split(",")
    .flatMap((keyId, key) => Array.from({ length: 4 }, (_, n) => chargeForever(keyId, key * 4 + n))),
);
