import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { heldBefore } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { TestKey } from "../support/sluice.ts";
import { readStream } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { costOfFixture, FragileNodes } from "./fragile-nodes.ts";

const path = "/v1/chat/completions";
const body = { model: "gpt-test", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const waitMs = 60_000;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a cluster", () => {
    let provider: ScriptedProvider;
    let nodes: FragileNodes;
    let key: TestKey;
    beforeAll(async () => {
      provider = startProvider();
      nodes = await FragileNodes.start(2, provider);
      key = await nodes.at(1).createKey({ credit: 100 });
    }, 120_000);
    afterAll(async () => {
      await nodes[Symbol.asyncDispose]();
      provider.stop();
    });

    const startStream = async (index: number) => {
      const gate = Promise.withResolvers<void>();
      provider.script(heldBefore(answerFrom("chat/text.sse"), '" keep"', gate.promise));
      const response = await nodes.at(index).request(path, { key, body: { ...body, stream: true } });
      expect(response.status).toBe(200);
      provider.script(null);
      return {
        id: response.headers.get("x-request-id") ?? "",
        reading: readStream(response),
        open: gate.resolve,
      };
    };

    test("lists its nodes", async () => {
      const lines = await nodes.list();
      expect(lines.map(({ name, state, holds }) => ({ name, state, holds }))).toEqual(
        expect.arrayContaining([
          { name: "node-0", state: "live", holds: 0 },
          { name: "node-1", state: "live", holds: 0 },
        ]),
      );
      const shown = await nodes.at(0).cli("nodes");
      expect(shown.stdout).toContain("node-1");
    });

    test("takes over a node that pauses past its lease, which ends what it ran and joins anew", async () => {
      const paused = nodes.at(0);
      const before = (await nodes.list()).find(({ name }) => name === "node-0")?.node ?? 0;
      const { id, reading, open } = await startStream(0);
      process.kill(paused.pid, "SIGSTOP");
      const isDead = async () => {
        const line = (await nodes.list(nodes.at(1))).find(({ node }) => node === before);
        return line?.state === "dead" && line.holds === 0;
      };
      await waitFor(isDead, "the takeover", waitMs);
      process.kill(paused.pid, "SIGCONT");
      const { text, failure } = await reading;
      expect(failure).toBeNull();
      expect(text).toContain("service_unavailable");
      expect(text).not.toContain("[DONE]");
      open();
      await waitFor(async () => (await paused.request("/readyz")).status === 200, "it to be ready", waitMs);
      const lines = await nodes.list();
      expect(lines.filter(({ name }) => name === "node-0").map(({ state }) => state)).toEqual([
        "dead",
        "live",
      ]);
      expect((await paused.request(path, { key, body })).status).toBe(200);
      // What was produced is charged, by the one that took over or by the one that came back, and no more.
      const charged = (await nodes.chargesByExchange()).get(id) ?? [];
      expect(charged.map(({ outcome }) => outcome)).toEqual(
        charged.length === 1 ? ["failed"] : ["interrupted", "failed"],
      );
      await nodes.checkBooks();
    }, 120_000);

    test("answers 503 with Retry-After while the database is away, and a stream's end waits for it", async () => {
      const { id, reading, open } = await startStream(0);
      nodes.proxyOf(0).mode = "refuse";
      nodes.proxyOf(0).cut();
      open();
      await waitFor(
        async () => (await nodes.at(0).request("/readyz")).status === 503,
        "it to be unready",
        waitMs,
      );
      expect((await nodes.at(0).request("/healthz")).status).toBe(200);
      const named = { "idempotency-key": "while it is away" };
      for (const refused of [
        await nodes.at(0).request(path, { key, body }),
        await nodes.at(0).request(path, { key, body, headers: named }),
        await nodes.at(0).request("/v1/usage", { key }),
      ]) {
        expect(refused.status).toBe(503);
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
        expect(await refused.text()).toContain("service_unavailable");
      }
      expect((await nodes.at(1).request(path, { key, body })).status).toBe(200);
      nodes.proxyOf(0).mode = "pass";
      const { text, failure } = await reading;
      expect(failure).toBeNull();
      expect(text).toEndWith("data: [DONE]\n\n");
      await waitFor(
        async () => (await nodes.at(0).request("/readyz")).status === 200,
        "it to be ready",
        waitMs,
      );
      expect((await nodes.chargesByExchange(nodes.at(1))).get(id)).toMatchObject([
        { amount: -costOfFixture(), outcome: "completed" },
      ]);
      await nodes.checkBooks(nodes.at(1));
    }, 120_000);

    test("charges in full what a node could not report before it was killed, when it starts again", async () => {
      const { id, reading, open } = await startStream(0);
      nodes.proxyOf(0).mode = "silent";
      open();
      const [request] = provider.requests.slice(-1);
      await request?.over;
      await waitFor(() => hasKept(nodes, id), "the charge to be kept in the folder", waitMs);
      await nodes.at(0).kill9();
      expect((await reading).text).not.toContain("[DONE]");
      nodes.proxyOf(0).mode = "pass";
      nodes.proxyOf(0).cut();
      await nodes.at(0).restart();
      await nodes.checkBooks();
      const entries = (await nodes.chargesByExchange()).get(id) ?? [];
      expect(entries.reduce((sum, { amount }) => sum - amount, 0)).toBe(costOfFixture());
    }, 120_000);

    test("is left at once by a node that stops, which leaves nothing behind", async () => {
      const leaving = nodes.at(0);
      expect(await leaving.stop()).toBe(0);
      const lines = await nodes.list(nodes.at(1));
      expect(lines.filter(({ name, state }) => name === "node-0" && state !== "dead")).toEqual([]);
      await leaving.restart();
      await nodes.checkBooks();
    }, 120_000);
  });

/** The file is locked, but what it holds can be looked for. It is kept once the file's journal is empty again. */
async function hasKept(nodes: FragileNodes, exchangeId: string): Promise<boolean> {
  const glob = new Bun.Glob("data/sluice.node-*");
  for await (const name of glob.scan({ cwd: nodes.at(0).folder, absolute: true })) {
    const bytes = await Bun.file(name).bytes();
    if (Buffer.from(bytes).includes(exchangeId) && Bun.file(`${name}-journal`).size === 0) return true;
  }
  return false;
}
