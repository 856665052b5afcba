import { describe, expect, test } from "bun:test";
import { costNano, makeRates } from "../../../../src/base/money/rates.ts";
import type { AttemptCount } from "../../../../src/store/attempt-sums.ts";
import { attemptTotalColumns } from "../../../../src/store/reporting/attempt-columns.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing, resoldRates } from "../../../support/rates.ts";
import { waitFor } from "../../../support/wait.ts";
import { attempt, served, times } from "../../attempts.ts";
import { chargeOrder, holdOrder, NodeWorld } from "./world.ts";

const waitMs = 60_000;

interface Counted {
  readonly ending: string;
  readonly figures: readonly number[];
}

/** Over all nodes, without what has been taken back. */
async function counted(world: NodeWorld): Promise<readonly Counted[]> {
  const sums = attemptTotalColumns.map((column) => `sum(${column})::float8`).join(", ");
  return world.client.query<Counted>(
    `SELECT ending, ARRAY[${sums}]::text[]::float8[] AS figures FROM attempt_sums
    WHERE provider = $1 AND credential = $2 AND upstream_model = $3
    GROUP BY ending HAVING sum(attempts) <> 0 OR sum(owed_nano_usd) <> 0 OR sum(counted_output_tokens) <> 0 ORDER BY ending`,
    [served.provider, served.credential, served.upstreamModel],
  );
}

function figuresOf({ outcome, ...one }: AttemptCount): Counted {
  const { attempts, estimated, inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = one;
  const counts = [one.countedInputTokens, one.countedOutputTokens, one.owedNanoUsd];
  const figures = [attempts, estimated, inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens];
  return { ending: outcome, figures: [...figures, ...counts] };
}

const soFar = {
  ...costing(40),
  rates: resoldRates,
  quantities: { input: 7, "claude-5/cached_input": 2, output: 38, image_output: 2, minutes: 0.5 },
  served,
};
const interrupted = {
  ...times(0, attempt()),
  outcome: "interrupted",
  attempts: 1,
  estimated: 1,
  countedInputTokens: 9,
  countedOutputTokens: 40,
  owedNanoUsd: 38,
} satisfies AttemptCount;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("attempts", () => {
    test("are counted with the charges of their batch, and once however often they are sent", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node } = await world.join();
      const orders = [1, 2, 3].map(() => holdOrder(keyId, 100));
      await Promise.all(orders.map((order) => node.hold(order)));
      const charges = orders.map((order) => chargeOrder(order, 60, { attempts: [attempt()] }));
      await Promise.all(charges.map((charge) => node.settle(charge)));
      await Promise.all(charges.map((charge) => node.settle(charge)));
      expect(await counted(world)).toEqual([figuresOf(times(3, attempt()))]);
    });

    test("of a node that was cut off are counted as interrupted, until its charge comes late", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      await world.join();
      const { node, proxy } = await world.join();
      const [produced, silent] = [holdOrder(keyId, 100), holdOrder(keyId, 100)];
      await Promise.all([produced, silent].map((order) => node.hold(order)));
      node.progress(produced.holdId, soFar);
      const isNoted = async () =>
        (await world.client.query("SELECT FROM holds WHERE served <> ''")).length === 1;
      await waitFor(isNoted, "the progress");
      proxy.mode = "silent";
      await waitFor(async () => (await world.leftovers())["holds"] === 0, "the takeover", waitMs);
      expect(await counted(world)).toEqual([figuresOf(interrupted)]);
      proxy.mode = "pass";
      await waitFor(() => node.problem === null, "the node to join anew", waitMs);
      const late = [
        chargeOrder(produced, 55, { attempts: [attempt()] }),
        chargeOrder(silent, 5, { attempts: [attempt()] }),
      ];
      for (const charge of [...late, ...late]) await node.settle(charge);
      expect(await counted(world)).toEqual([figuresOf(times(2, attempt()))]);
    }, 120_000);

    test("of a node that was cut off are owed what the one function of money says, to the nano", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000_000);
      await world.join();
      const { node, proxy } = await world.join();
      const order = holdOrder(keyId, 800_000);
      await node.hold(order);
      const rates = makeRates({
        microUsdPerCredit: 1_000_000,
        picoUsd: { audio_minutes: 6_000_000_000 },
        tiers: [],
        inputAbove: null,
      });
      // Seven seconds: a double cannot hold that part of a minute.
      const quantities = { audio_minutes: 7 / 60 };
      const cost = costNano(rates, quantities);
      node.progress(order.holdId, { cost, rates, quantities, served });
      const isNoted = async () =>
        (await world.client.query("SELECT FROM holds WHERE charge_so_far > 0")).length === 1;
      await waitFor(isNoted, "the progress");
      proxy.mode = "silent";
      await waitFor(async () => (await world.leftovers())["holds"] === 0, "the takeover", waitMs);
      const owed = await world.client.query("SELECT owed_nano_usd::float8 AS owed FROM attempt_sums");
      const posted = await world.client.query("SELECT posted::float8 FROM accounts");
      expect({ cost, owed, posted }).toEqual({
        cost: 700_000,
        owed: [{ owed: 700_000 }],
        posted: [{ posted: 300_000 }],
      });
    }, 120_000);
  });
