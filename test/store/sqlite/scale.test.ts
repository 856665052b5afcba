import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { newId } from "../../../src/base/id.ts";
import { KeyRing } from "../../../src/keys/keyring.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { openStore } from "../../../src/store/open.ts";
import { fillStore } from "../../bench/fill.ts";
import { isSoak } from "../../support/effort.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { temporaryFolder } from "../fixtures.ts";

const size = isSoak ? { keys: 10_000, records: 1_000_000 } : { keys: 300, records: 20_000 };

test(
  `a history of ${size.records} requests of ${size.keys} keys slows neither the start nor a request`,
  async () => {
    using folder = temporaryFolder();
    const { credit } = await fillStore(folder.dir, size);
    const startedMs = performance.now();
    const store = await openStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
    const snapshot = await store.load();
    const keys = new KeyRing(systemClock, snapshot.keys);
    const ledger = await Ledger.open({ store, clock: systemClock, snapshot });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(keys.find(credit.secret)?.id).toBe(credit.key.id);
    const requestsMs = performance.now();
    for (let count = 0; count < 10_000; count += 1) {
      const exchangeId = newId("req_");
      ledger.release(
        ledger.hold({
          keyId: credit.key.id,
          exchangeId,
          model: "house-model",
          askedModel: null,
          labels: null,
          amount: 1,
        }),
      );
      ledger.summary(credit.key.id);
    }
    expect(performance.now() - requestsMs).toBeLessThan(5_000);
    expect(ledger.summary(credit.key.id).requests).toBeGreaterThan(0);
    expect((await audit(store)).differences).toEqual([]);
    const days = await summarizeUsage(store, { by: "day", sinceMs: 0 });
    expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(size.records);
    await store.close();
  },
  { timeout: 600_000 },
);
