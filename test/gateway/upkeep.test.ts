import { describe, expect, setSystemTime, spyOn, test } from "bun:test";
import type { RunningGateway } from "../../src/app/start.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { idKey } from "../../src/base/id.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { waitFor } from "../support/wait.ts";
import { keyOn, start } from "./demo-gateway.ts";

/** A gateway's periodic background jobs. */

const tenMinutesMs = 10 * 60_000;

/** A gateway, and what it does every ten minutes. */
async function startWatched(...args: Parameters<typeof start>) {
  using intervals = spyOn(globalThis, "setInterval");
  const gateway = await start(...args);
  const work = intervals.mock.calls.filter(([, everyMs]) => everyMs === tenMinutesMs).map(([run]) => run);
  return { gateway, upkeep: () => work.forEach((run) => void run()) };
}

/** Leaves one of each: an answer for its idempotency key, a stored response, an id that a provider has given. */
async function leaveTraces({ url, gateway, ...running }: RunningGateway): Promise<string> {
  const { key, secret } = await keyOn({ url, gateway, ...running });
  gateway.idOwners.remember(key.id, { provider: "demo", credential: null }, ["cntr_1"], 0);
  const headers = { authorization: `Bearer ${secret}`, "idempotency-key": "once" };
  const body = JSON.stringify({ model: "m", input: "One" });
  const response = await fetch(`${url}/v1/responses`, { method: "POST", headers, body });
  expect(response.status).toBe(200);
  return key.id;
}

/** How many of each are in the database, expired or not. */
async function kept({ store }: RunningGateway, keyId: string): Promise<readonly number[]> {
  const [given] = await store.findIssuedIds(keyId, [idKey("cntr_1")]);
  const scope = { keyId, route: "/v1/responses", idempotencyKey: "once" };
  const answer = await store.findStoredResponse(scope, 0);
  return [answer === null ? 0 : 1, (await store.storage()).responses, given == null ? 0 : 1];
}

async function expectPruning(dir: string, store: string): Promise<void> {
  setSystemTime(new Date(Date.now() - 100 * msPerDay));
  const old = await startWatched(dir, "data", store);
  const keyId = await leaveTraces(old.gateway);
  await old.gateway.stop();
  setSystemTime();
  const { gateway, upkeep } = await startWatched(dir, "data", store);
  expect(await kept(gateway, keyId)).toEqual([1, 1, 1]);
  upkeep();
  await waitFor(async () => (await kept(gateway, keyId)).every((count) => count === 0), "all to be pruned");
  await gateway.stop();
}

test("upkeep prunes answers for retries, stored responses and given ids once they are too old", async () => {
  using folder = temporaryFolder();
  await expectPruning(folder.dir, "").finally(() => setSystemTime());
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("on PostgreSQL", () => {
    test("upkeep prunes the same", async () => {
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      await expectPruning(folder.dir, `[store]\nurl = "${database.url}"\n`).finally(() => setSystemTime());
    });
  });
