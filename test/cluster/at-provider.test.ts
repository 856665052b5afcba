import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { BatchClient, chatLines } from "../gateway/batches/batch-world.ts";
import { costOf, MessageBatches, nativeModel } from "../support/message-batches.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("lines at a provider, with three nodes", () => {
    let batches: MessageBatches;
    let provider: ScriptedProvider;
    let nodes: FragileNodes;
    let key: TestKey;
    beforeAll(async () => {
      provider = startProvider();
      const tail = `${nativeModel}\n[batches]\nprovider_poll = "200ms"\n`;
      nodes = await FragileNodes.start(3, provider, { tail });
    }, 120_000);
    beforeEach(async () => {
      batches = new MessageBatches();
      provider.script(batches.script);
      key = await nodes.at(1).createKey({ credit: 100 });
      for (const node of nodes.all) {
        const isKnown = async () => (await node.request("/v1/usage", { key })).status === 200;
        await waitFor(isKnown, "the key to be known");
      }
    });
    afterEach(() => provider.reset());
    afterAll(async () => {
      await nodes[Symbol.asyncDispose]();
      provider.stop();
    });

    const at = (index: number) => new BatchClient(nodes.at(index).url, { secret: key.key });
    const claudeLines = (count: number) => chatLines(count, { model: "claude-batch" });
    const expectExact = async (id: string, count: number) => {
      const ended = await at(1).untilEnded(id);
      expect(ended.request_counts).toEqual({ total: count, completed: count, failed: 0 });
      const results = await at(1).results(ended);
      const exported = await nodes.at(1).cli("ledger", "export", "--key", key.id, "--json");
      const paid = exported.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { kind: string; request_id: string; amount: number })
        .filter(({ kind }) => kind === "charge")
        .map(({ request_id, amount }) => [request_id, -amount]);
      const owed = results.map(({ custom_id, response }) => [
        response?.request_id ?? "",
        costOf(Number(custom_id.slice("line-".length))),
      ]);
      expect(paid.toSorted()).toEqual(owed.toSorted());
    };

    test("the lines of a killed node are settled by another one, from the provider's batch", async () => {
      batches.takesMs = 600_000;
      const { id } = await at(0).create(claudeLines(40));
      await waitFor(() => batches.linesSent.length === 40, "the lines to be sent");
      await nodes.at(0).kill9();
      await nodes.at(2).kill9();
      for (const batch of batches.batches) batch.endsAtMs = Date.now();
      await expectExact(id, 40);
      expect(batches.linesSent).toHaveLength(40);
      await nodes.at(0).restart();
      await nodes.at(2).restart();
      await nodes.checkBooks(nodes.at(1));
    }, 120_000);

    test("a node that stops for longer than its lease while it settles charges nothing twice", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      let reads = 0;
      batches.fault = (request, kind) => {
        const batch = batches.named(request);
        if (kind !== "results" || batch === undefined) return null;
        reads += 1;
        if (reads > 1) return null;
        const whole = batches.results(batch);
        const [step] = whole.steps;
        const body = step !== undefined && "write" in step ? String(step.write) : "";
        const steps = [{ write: body.slice(0, 4000) }, { until: promise }, { write: body.slice(4000) }];
        return { ...whole, steps, framing: "chunked" };
      };
      const { id } = await at(0).create(claudeLines(40));
      await waitFor(() => reads > 0, "a node to read the results");
      // Any of them may be the one that reads.
      for (const index of [0, 2]) process.kill(nodes.at(index).pid, "SIGSTOP");
      resolve();
      try {
        await expectExact(id, 40);
      } finally {
        for (const index of [0, 2]) process.kill(nodes.at(index).pid, "SIGCONT");
      }
      await Bun.sleep(2000);
      await expectExact(id, 40);
      expect(batches.linesSent).toHaveLength(40);
      await nodes.checkBooks(nodes.at(1));
    }, 120_000);
  });
