import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { BatchClient, chatLines, type ShownBatch } from "../gateway/batches/batch-world.ts";
import { type Answer, json } from "../support/answers.ts";
import { isSoak } from "../support/effort.ts";
import { costOf, MessageBatches, nativeModel, succeeded, usageOf } from "../support/message-batches.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";

const lineCount = isSoak ? 1000 : 120;

interface Charge {
  readonly kind: string;
  readonly request_id: string;
  readonly amount: number;
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a batch on three nodes of which one is killed and one stops for long, while the database restarts", () => {
    let postgres: PostgresServer;
    let batches: MessageBatches;
    let provider: ScriptedProvider;
    let nodes: FragileNodes;
    let key: TestKey;
    beforeAll(async () => {
      postgres = new PostgresServer();
      provider = startProvider();
      const tail = `${nativeModel}\n[batches]\nprovider_poll = "200ms"\n`;
      nodes = await FragileNodes.start(3, provider, { tail, postgres });
    }, 120_000);
    beforeEach(async () => {
      batches = new MessageBatches();
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
      postgres[Symbol.dispose]();
    });

    const client = () => new BatchClient(nodes.at(1).url, { secret: key.key });
    /** Null while the database is away. */
    const shown = async (id: string): Promise<ShownBatch | null> => {
      const { status, body } = await client().call("GET", `/batches/${id}`);
      return status === 200 ? body : null;
    };
    const isEnded = async (id: string) => (await shown(id))?.sluice.state === "ended";

    /** Each line has one result and one charge of its own price, and the balance is short of exactly their sum. */
    const expectExact = async (id: string, times: number) => {
      await waitFor(() => isEnded(id), "the batch to end");
      const ended = await client().get(id);
      expect(ended.request_counts).toEqual({ total: lineCount, completed: lineCount, failed: 0 });
      const results = await client().results(ended);
      const owed = results.map(({ custom_id, response }) => [
        response?.request_id ?? "",
        times * costOf(Number(custom_id.slice("line-".length))),
      ]);
      expect(new Set(results.map(({ custom_id }) => custom_id)).size).toBe(lineCount);
      const exported = (await nodes.at(1).cli("ledger", "export", "--key", key.id, "--json")).stdout;
      const entries = exported
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Charge);
      const paid = entries
        .filter(({ amount }) => amount < 0)
        .map(({ request_id, amount }) => [request_id, -amount]);
      expect(paid.toSorted()).toEqual(owed.toSorted());
      const sum = Array.from({ length: lineCount }, (_, n) => times * costOf(n)).reduce((a, b) => a + b, 0);
      const usage = await nodes.at(1).request("/v1/usage", { key });
      const { credits } = (await usage.json()) as { credits: { used: number; reserved: number } };
      expect([Math.round(credits.used * 1e9), credits.reserved]).toEqual([sum, 0]);
    };

    const breakThings = async (isUnderWay: (lines: number) => boolean) => {
      await waitFor(() => isUnderWay(lineCount / 6), "lines to run");
      await nodes.at(0).kill9();
      await waitFor(() => isUnderWay(lineCount / 4), "more lines to run");
      process.kill(nodes.at(2).pid, "SIGSTOP");
      postgres.restart();
    };

    const recover = async (id: string, times: number) => {
      try {
        await expectExact(id, times);
      } finally {
        process.kill(nodes.at(2).pid, "SIGCONT");
      }
      await nodes.at(0).restart();
      const isReady = async () => (await nodes.at(2).request("/readyz")).status === 200;
      await waitFor(isReady, "the node to be back");
      await nodes.checkBooks(nodes.at(1));
      await expectExact(id, times);
    };

    test("charges each line once that the gateways run", async () => {
      provider.script((request) => ({ ...chatAnswer(request), before: [{ sleepMs: 200 }] }));
      const { id } = await client().create(chatLines(lineCount));
      await breakThings((lines) => provider.requests.length >= lines);
      await recover(id, 2);
    }, 120_000);

    test("charges each line once that runs at the provider", async () => {
      batches.takesMs = 600_000;
      provider.script((request) =>
        request.path.includes("/batches") ? batches.script(request) : messageAnswer(request),
      );
      const { id } = await client().create(chatLines(lineCount, { model: "claude-batch" }));
      await breakThings(() => batches.linesSent.length > 0);
      batches.takesMs = 0;
      for (const batch of batches.batches) batch.endsAtMs = Date.now();
      await recover(id, 1);
      console.log(
        `${lineCount} lines, ${batches.linesSent.length} sent in ${batches.batches.length} batches`,
      );
    }, 120_000);
  });

function questionIn({ text }: SeenRequest): number {
  return Number(/Question (\d+)/.exec(text)?.[1] ?? 0);
}

/** At the usual price: twice the price of a batch. */
function chatAnswer(request: SeenRequest): Answer {
  const { input_tokens, output_tokens } = usageOf(questionIn(request));
  const message = { role: "assistant", content: "Hi" };
  return json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-upstream",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens: input_tokens + output_tokens,
    },
  });
}

function messageAnswer(request: SeenRequest): Answer {
  return json(succeeded({ custom_id: "single", params: request.body })["message"] as JsonObject);
}
