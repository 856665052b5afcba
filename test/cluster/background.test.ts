import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { BackgroundClient, begun, parsed } from "../gateway/background/background-world.ts";
import { drip, heldBefore, silence } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { FragileNodes } from "./fragile-nodes.ts";

/** What `responses/text.sse` costs at 1 and 2 USD per million tokens: 21 tokens of input, 9 of output. */
const wholeCost = -(21 * 1000 + 9 * 2000);

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("responses in the background, on two nodes", () => {
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

    const at = (index: number) => new BackgroundClient(nodes.at(index).url, { secret: key.key });
    const newKey = async () => {
      key = await nodes.at(0).createKey({ credit: 100 });
      for (const node of nodes.all)
        await waitFor(
          async () => (await node.request("/v1/usage", { key })).status === 200,
          "the key to be known",
        );
    };
    const charges = async () =>
      (await nodes.at(0).cli("ledger", "export", "--key", key.id, "--json")).stdout
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { kind: string; amount: number; outcome: string })
        .filter(({ kind }) => kind === "charge");

    test("each answers for those of the other, half a second behind at most", async () => {
      await newKey();
      provider.script(() => drip(answerFrom("responses/text.sse"), 30));
      const created = await at(0).fetch("POST", "", {
        model: "gpt-test",
        input: "One",
        background: true,
        stream: true,
      });
      const { id, reader, whole } = await begun(created);
      const elsewhere = at(1).events(id);
      await reader.until("output_text.delta");
      const seenAtMs = performance.now();
      expect((await at(1).get(id)).status).toBe("in_progress");
      const other = await begun(await at(1).fetch("GET", `/${id}?stream=true`));
      await other.reader.until("output_text.delta");
      expect(performance.now() - seenAtMs).toBeLessThan(1500);
      const all = await whole();
      expect(await elsewhere).toBe(all);
      expect(await other.whole()).toBe(all);
      expect(await at(1).get(id)).toEqual(await at(0).get(id));
      expect(await at(1).events(id, 3)).toBe(await at(0).events(id, 3));
    });

    test("each cancels those of the other", async () => {
      await newKey();
      const never = new Promise<never>(() => {});
      provider.script(() => heldBefore(answerFrom("responses/text.sse"), "response.output_text.done", never));
      const { id } = await at(0).create({});
      await at(1).untilStatus(id, (status) => status === "in_progress");
      const askedAtMs = performance.now();
      expect((await at(1).call("POST", `/${id}/cancel`)).body).toMatchObject({ id, status: "cancelled" });
      expect(performance.now() - askedAtMs).toBeLessThan(4000);
      expect((await at(0).get(id)).status).toBe("cancelled");
      expect(await charges()).toMatchObject([{ outcome: "cancelled" }]);
    });

    test("those of a killed node are taken over: what was queued runs, what was in progress has failed", async () => {
      await newKey();
      const never = new Promise<never>(() => {});
      provider.script([
        heldBefore(answerFrom("responses/text.sse"), "response.output_text.done", never),
        silence(),
        answerFrom("responses/text.sse"),
      ]);
      const created = await at(0).fetch("POST", "", {
        model: "gpt-test",
        input: "One",
        background: true,
        stream: true,
      });
      const { id: running, reader } = await begun(created);
      await reader.until("output_text.delta");
      await Bun.sleep(1500);
      const { id: queued } = await at(0).create({});
      await waitFor(() => provider.requests.length === 2, "the provider to be asked");
      const following = at(1).events(running);
      await nodes.at(0).kill9();
      expect(await at(1).untilEnded(queued)).toMatchObject({ id: queued, status: "completed" });
      expect(await at(1).untilEnded(running)).toMatchObject({
        status: "failed",
        error: { code: "server_error" },
      });
      const events = parsed(await following);
      expect(events.at(-1)?.type).toBe("response.failed");
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, place) => place));
      await nodes.at(0).restart();
      const all = await charges();
      expect(all.map(({ outcome }) => outcome).toSorted()).toEqual(["completed", "interrupted"]);
      expect(all.find(({ outcome }) => outcome === "completed")?.amount).toBe(wholeCost);
      await nodes.checkBooks();
    }, 120_000);

    test("those of a node that stopped for longer than its lease run on another, and are charged once", async () => {
      await newKey();
      const { promise, resolve } = Promise.withResolvers<void>();
      provider.script([
        { ...answerFrom("responses/text.sse"), before: [{ until: promise }] },
        answerFrom("responses/text.sse"),
      ]);
      const { id } = await at(0).create({});
      await waitFor(() => provider.requests.length === 1, "the provider to be asked");
      process.kill(nodes.at(0).pid, "SIGSTOP");
      resolve();
      try {
        expect(await at(1).untilEnded(id)).toMatchObject({ id, status: "completed" });
      } finally {
        process.kill(nodes.at(0).pid, "SIGCONT");
      }
      const { output } = await at(1).get(id);
      await waitFor(async () => (await at(0).get(id)).status === "completed", "the other node to be back");
      await Bun.sleep(2000);
      expect((await at(0).get(id)).output).toEqual(output);
      expect(await charges()).toMatchObject([{ outcome: "completed", amount: wholeCost }]);
      await nodes.checkBooks();
    }, 120_000);
  });
