import { describe, expect, test } from "bun:test";
import type { RunningGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { issueKey } from "../../src/keys/issue.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { waitFor } from "../support/wait.ts";
import { start } from "./demo-gateway.ts";

/** A key with a tag that a cap counts. */
async function keyOfAtlas({ store, gateway }: RunningGateway) {
  const issued = await issueKey(store, systemClock, {
    mode: "credit",
    creditNano: 100 * nanoPerCredit,
    tags: { project: "atlas" },
  });
  const { id: keyId } = issued.key;
  const cap = {
    label: "tag:project",
    value: null,
    limit: nanoPerCredit,
    period: "day",
    models: null,
  } as const;
  const within = {
    keyId,
    accountId: null,
    mode: "credit",
    isOptional: false,
    maxValues: 10,
    thenModel: null,
    thenAlways: false,
  } as const;
  const { no } = await store.insertValueCap({ id: newId("cap_"), ...cap, ...within }, Date.now());
  await gateway.catchUp();
  return { ...issued, capNo: no };
}

/** The values that the cap has counted, after a request whose client says that it is for `zephyr`. */
async function countedOf({ url, store }: RunningGateway, secret: string, capNo: number) {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "x-sluice-tags": "project=zephyr" },
    body: JSON.stringify({ model: "m", input: "One" }),
  });
  expect(response.status).toBe(200);
  const values = () => store.valueTotals(capNo);
  await waitFor(async () => (await values()).length > 0, "the charge to be counted");
  return (await values()).map(({ value }) => value);
}

async function expectOwnTag(dir: string, store: string): Promise<void> {
  const before = await start(dir, "data", store);
  const { secret, capNo } = await keyOfAtlas(before);
  await before.stop();
  const restarted = await start(dir, "data", store);
  expect(await countedOf(restarted, secret, capNo)).toEqual(["atlas"]);
  await restarted.stop();
}

test("a gateway that has just started counts the key's own tag, not the client's", async () => {
  using folder = temporaryFolder();
  await expectOwnTag(folder.dir, "");
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("on PostgreSQL", () => {
    test("a gateway that has just started counts the key's own tag, not the client's", async () => {
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      await expectOwnTag(folder.dir, `[store]\nurl = "${database.url}"\n`);
    });
  });
