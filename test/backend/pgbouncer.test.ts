import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { loadSettings } from "../../src/config/load.ts";
import { issueKey } from "../../src/keys/issue.ts";
import { audit } from "../../src/ledger/audit.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPgbouncer, startPgbouncer, withoutPgbouncer } from "../support/pgbouncer.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { summarizeUsage } from "../support/usage.ts";

const requests = 60;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else if (!hasPgbouncer) test.skipIf(true)(withoutPgbouncer, () => {});
else
  test("gateways behind pgbouncer in transaction mode charge every request once", async () => {
    await using database = await emptyDatabase();
    await using bouncer = await startPgbouncer(database.server);
    using folder = temporaryFolder();
    const file = join(folder.dir, "sluice.toml");
    const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\n';
    const price = "price = { input = 1, output = 1 }\n";
    writeFileSync(file, `[store]\nurl = "${bouncer.url(database.name)}"\nprepare = false\n${demo}${price}`);
    const start = (name: string) => {
      const flags = { port: 0, data: join(folder.dir, name) };
      return startGateway({
        settings: loadSettings({ file, env: { SLUICE_LOG_LEVEL: "silent" }, flags }).settings,
      });
    };
    const gateways = [await start("one"), await start("other")];
    const store = gateways[0]?.store;
    if (store === undefined) throw new Error("no gateway has started");
    const { key, secret } = await issueKey(store, systemClock, { mode: "credit", creditNano: nanoPerCredit });
    const ask = (url: string, name: string) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
        headers: {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          "idempotency-key": name,
        },
      });
    for (const { gateway } of gateways) await gateway.catchUp();
    const statuses = await Promise.all(
      Array.from({ length: requests }, async (_, index) => {
        const answer = await ask(gateways[index % 2]?.url ?? "", `request ${index}`);
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    expect(statuses).toEqual(Array(requests).fill(200));
    const replayed = await ask(gateways[1]?.url ?? "", "request 0");
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    const [usage] = await summarizeUsage(store, { by: "key", sinceMs: 0 });
    const totals = await store.readTotals(key.id);
    expect(usage).toMatchObject({ requests, spendNano: totals?.used ?? -1 });
    expect(totals?.requests).toBe(requests);
    expect((await audit(store)).differences).toEqual([]);
    expect((await store.load()).openHolds).toEqual([]);
    for (const running of gateways) expect(await running.stop()).toEqual([]);
  });
