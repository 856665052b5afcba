import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newId } from "../../../../src/base/id.ts";
import { fullBucket, takeTokens } from "../../../../src/limits/bucket.ts";
import type { ClaimOrder } from "../../../../src/store/node.ts";
import type { OutcomeRecord } from "../../../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { outcomeRecordOf } from "../../fixtures.ts";
import { chargeOrder, claimOrder, holdOrder, type JoinedNode, NodeWorld, storedResponse } from "./world.ts";

/** What the database decides for all nodes, and writes. */
if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("the database", () => {
    let world: NodeWorld;
    let joined: JoinedNode;
    beforeAll(async () => {
      world = await NodeWorld.create();
      joined = await world.join();
    }, 120_000);
    afterAll(() => world[Symbol.asyncDispose]());

    test.each([
      ["disabled", "status = 'disabled'", "disabled"],
      ["suspended", "status = 'suspended'", "suspended"],
      ["revoked", "status = 'revoked'", "revoked"],
      ["expired", "expires_at_ms = 1", "expired"],
    ] as const)("gives no hold to a key that was %s a moment ago", async (_, change, decision) => {
      const keyId = await world.addKey(1_000);
      const { node } = joined;
      expect(await node.hold(holdOrder(keyId, 10))).toMatchObject({ decision: "held", remaining: 990 });
      await world.client.query(`UPDATE keys SET ${change} WHERE id = $1`, [keyId]);
      expect(await node.hold(holdOrder(keyId, 10))).toMatchObject({ decision });
    });

    test("gives no hold to a key that it does not know, and answers the others of the batch", async () => {
      const keyId = await world.addKey(1_000);
      const orders = [holdOrder("key_unknown", 1), holdOrder(keyId, 1)];
      const verdicts = await Promise.all(orders.map((order) => joined.node.hold(order)));
      expect(verdicts.map(({ decision }) => decision)).toEqual(["unknown_key", "held"]);
    });

    test("isolates an item that it rejects: the others of its batch are held", async () => {
      const keyId = await world.addKey(1_000);
      const first = holdOrder(keyId, 1);
      await joined.node.hold(first);
      const answers = await Promise.allSettled(
        [first, holdOrder(keyId, 1), holdOrder(keyId, 2)].map((order) => joined.node.hold(order)),
      );
      expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    });

    test.each([
      ["a NUL", "fire\0", "fire\uFFFD"],
      ["half a surrogate pair", "fire\uD83D", "fire\uFFFD"],
      ["a backslash that only looks like one", "fire\\u0000 \\uD83D", "fire\\u0000 \\uD83D"],
    ])("charges for an exchange whose provider said %s, and releases its hold", async (_, said, kept) => {
      const { node, events } = joined;
      const keyId = await world.addKey(100);
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      const about = { exchangeId: order.holdId, outcome: "failed", code: said, message: said } as const;
      const details = [{ said }] as unknown as OutcomeRecord["attemptDetails"];
      const outcomeRecord = outcomeRecordOf(keyId, { ...about, attemptDetails: details });
      const charge = chargeOrder(order, 60, { outcome: "failed", provider: said, outcomeRecord });
      expect(await node.settle(charge)).toEqual({ charged: 60, overrun: 0 });
      const [written] = await world.client.query(
        `SELECT accounts.held::int, posted::int, code, message, attempt_details IS NOT NULL AS detailed
        FROM accounts, exchange_endings WHERE accounts.id = $1 AND exchange_id = $2`,
        [keyId, order.holdId],
      );
      expect(written).toEqual({ held: 0, posted: 40, code: kept, message: kept, detailed: true });
      expect(events.filter(({ kind }) => kind === "rejected")).toEqual([]);
    });

    test("writes a charge, its overrun, its record, its outcomeRecord and its response at once", async () => {
      const { node } = joined;
      const keyId = await world.addKey(100);
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      const claim = claimOrder(keyId, order.holdId);
      expect(await node.claim(claim)).toBe("run");
      const outcomeRecord = outcomeRecordOf(keyId, {
        exchangeId: order.holdId,
        outcome: "completed",
        attemptDetails: [],
        attempts: 2,
      });
      const response = storedResponse(claim);
      const charge = chargeOrder(order, 130, { outcomeRecord, response });
      expect(await node.settle(charge)).toEqual({ charged: 100, overrun: 30 });
      const entries = await world.client.query(
        `SELECT kind, amount::float8, outcome, cost_nano::float8 AS cost, input_tokens::float8 AS input, node_no AS node
        FROM entries WHERE exchange_id = $1 ORDER BY id`,
        [order.holdId],
      );
      expect([...entries]).toEqual([
        { kind: "charge", amount: -100, outcome: "completed", cost: 100, input: 10, node: node.no },
        { kind: "overrun", amount: 30, outcome: "completed", cost: null, input: null, node: node.no },
      ]);
      const endings = await world.client.query(
        `SELECT e.attempts, e.entry_id = entries.id AS "isLinked" FROM exchange_endings e
        JOIN entries ON entries.exchange_id = e.exchange_id AND kind = 'charge' WHERE e.exchange_id = $1`,
        [order.holdId],
      );
      expect([...endings]).toEqual([{ attempts: 2, isLinked: true }]);
      const later = { ...claim, exchangeId: newId("req_") };
      expect(await node.claim(later)).toBe("replay");
      expect(await node.claim({ ...later, bodyHash: "other" })).toBe("conflict");
      // Once it is too old it is as if there had been none.
      expect(await node.claim({ ...later, notBeforeMs: Number.MAX_SAFE_INTEGER })).toBe("run");
    });

    test("lets one of many run what has the same name, until it gives it back", async () => {
      const { node: other } = await world.join();
      const keyId = await world.addKey(100);
      const claims = Array.from({ length: 20 }, () => claimOrder(keyId, newId("req_"), "same"));
      const verdicts = await Promise.all(
        claims.map((claim, index) => (index % 2 === 0 ? joined.node : other).claim(claim)),
      );
      expect(verdicts.filter((verdict) => verdict === "run")).toHaveLength(1);
      expect(verdicts.filter((verdict) => verdict === "running")).toHaveLength(19);
      const winner = verdicts.indexOf("run");
      const claim = claims[winner] as ClaimOrder;
      // An exchange without the claim cannot give it back.
      joined.node.endClaim({ ...claim, exchangeId: "req_other" });
      expect(await other.claim({ ...claim, exchangeId: newId("req_") })).toBe("running");
      (winner % 2 === 0 ? joined.node : other).endClaim(claim);
      const again = async () => (await other.claim({ ...claim, exchangeId: newId("req_") })) === "run";
      await waitFor(again, "the name to be free");
    });

    test("keeps a claim while the charge that stores its response is on its way", async () => {
      const { node, proxy } = await world.join();
      const keyId = await world.addKey(100);
      const order = holdOrder(keyId, 10);
      await node.hold(order);
      const claim = claimOrder(keyId, order.holdId);
      expect(await node.claim(claim)).toBe("run");
      proxy.mode = "refuse";
      proxy.cut();
      const settling = node.settle(chargeOrder(order, 10, { response: storedResponse(claim) }));
      node.endClaim(claim);
      proxy.mode = "pass";
      await settling;
      expect(await joined.node.claim({ ...claim, exchangeId: newId("req_") })).toBe("replay");
    });

    test("gives out as many rate tokens as a bucket in memory would", async () => {
      const { node } = joined;
      const { node: other } = await world.join();
      const keyId = await world.addKey(0);
      const startedMs = performance.now();
      const bucket = fullBucket(30, startedMs);
      const verdicts = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          (index % 2 === 0 ? node : other).takeTokens([{ name: keyId, capacity: 30 }], 1),
        ),
      );
      const tookMs = performance.now() - startedMs;
      const granted = verdicts.filter((verdict) => verdict.granted).length;
      let least = 0;
      while (takeTokens(bucket, startedMs)) least += 1;
      const most = least + Math.ceil((tookMs * 30) / 60_000);
      expect(granted).toBeGreaterThanOrEqual(least);
      expect(granted).toBeLessThanOrEqual(most);
      // A new limit keeps the fill in proportion, so changing it allows no burst.
      const refused = await node.takeTokens([{ name: keyId, capacity: 60 }], 1);
      expect(refused.granted ? refused.levels[0] : 0).toBeLessThan(3);
    });

    test("takes tokens of all buckets of an order or of none, and takes them back", async () => {
      const { node } = joined;
      const { node: other } = await world.join();
      const large = { name: newId("key_"), capacity: 1_000 };
      const small = { name: newId("key_"), capacity: 100 };
      const startedMs = performance.now();
      /** What is there, without what may have been refilled since the start. */
      const expectLevels = async (...least: readonly number[]) => {
        const { levels } = await node.takeTokens([large, small], 1_000_000);
        const refilled = (performance.now() - startedMs) / 60_000;
        for (const [at, { capacity }] of [large, small].entries()) {
          expect(levels[at]).toBeGreaterThanOrEqual(least[at] ?? 0);
          expect(levels[at]).toBeLessThanOrEqual((least[at] ?? 0) + capacity * refilled);
        }
      };
      const verdicts = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? node : other).takeTokens([large, small], 30)),
      );
      const granted = verdicts.filter((verdict) => verdict.granted).length;
      const most = 3 + (performance.now() - startedMs) / 18_000;
      expect(granted).toBeGreaterThanOrEqual(3);
      expect(granted).toBeLessThanOrEqual(most);
      await expectLevels(1_000 - 30 * granted, Math.max(0, 100 - 30 * granted));
      node.returnTokens([large, small], 5_000);
      // More was used than was reserved: the bucket owes it. What one node sends is done in order.
      node.returnTokens([small], -5_000);
      expect((await node.takeTokens([large, small], 1)).granted).toBe(false);
      expect((await other.takeTokens([large], 1)).granted).toBe(true);
      await expectLevels(999, -4_900);
    });
  });
