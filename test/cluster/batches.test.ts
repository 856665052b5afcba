import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { BatchClient, chatLines } from "../gateway/batches/batch-world.ts";
import { usualResponse } from "../support/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("batches on two nodes", () => {
    let provider: ScriptedProvider;
    let nodes: FragileNodes;
    let key: TestKey;
    beforeAll(async () => {
      provider = startProvider();
      nodes = await FragileNodes.start(2, provider);
    }, 120_000);
    afterEach(() => provider.reset());
    afterAll(async () => {
      await nodes[Symbol.asyncDispose]();
      provider.stop();
    });

    const at = (index: number) => new BatchClient(nodes.at(index).url, { secret: key.key });
    const newKey = async () => {
      key = await nodes.at(0).createKey({ credit: 100 });
      for (const node of nodes.all) {
        const isKnown = async () => (await node.request("/v1/usage", { key })).status === 200;
        await waitFor(isKnown, "the key to be known");
      }
    };
    const expectExact = async (id: string, count: number, asked = 1) => {
      const ended = await at(asked).untilEnded(id);
      expect(ended.request_counts).toEqual({ total: count, completed: count, failed: 0 });
      const results = await at(asked).results(ended);
      expect(new Set(results.map(({ custom_id }) => custom_id)).size).toBe(count);
      const exported = await nodes.at(asked).cli("ledger", "export", "--key", key.id, "--json");
      const paid = exported.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { kind: string; request_id: string })
        .filter(({ kind }) => kind === "charge")
        .map(({ request_id }) => request_id);
      expect(paid.toSorted()).toEqual(results.map(({ response }) => response?.request_id ?? "").toSorted());
    };

    test("both run its lines, and answer for it", async () => {
      await newKey();
      provider.script((request) => ({ ...usualResponse(request), before: [{ sleepMs: 50 }] }));
      const { id } = await at(0).create(chatLines(60));
      expect((await at(1).get(id)).request_counts.total).toBe(60);
      await expectExact(id, 60);
      expect(await at(0).get(id)).toEqual(await at(1).get(id));
    }, 60_000);

    test("lines of a killed node run on the other one, and are charged once", async () => {
      await newKey();
      provider.script((request) => ({ ...usualResponse(request), before: [{ sleepMs: 30 }] }));
      const { id } = await at(0).create(chatLines(80));
      await waitFor(() => provider.requests.length >= 30, "lines to run");
      await nodes.at(0).kill9();
      await expectExact(id, 80);
      await nodes.at(0).restart();
      await nodes.checkBooks();
    }, 120_000);

    test("lines of a node that stopped for longer than its lease are charged once", async () => {
      await newKey();
      const { promise, resolve } = Promise.withResolvers<void>();
      let asked = 0;
      provider.script((request) => {
        asked += 1;
        return { ...usualResponse(request), before: asked <= 16 ? [{ until: promise }] : [] };
      });
      const { id } = await at(0).create(chatLines(40));
      await waitFor(() => provider.requests.length >= 16, "both nodes to run lines");
      process.kill(nodes.at(0).pid, "SIGSTOP");
      resolve();
      try {
        await expectExact(id, 40);
      } finally {
        process.kill(nodes.at(0).pid, "SIGCONT");
      }
      await Bun.sleep(2000);
      await expectExact(id, 40);
      await nodes.checkBooks();
    }, 120_000);
  });
