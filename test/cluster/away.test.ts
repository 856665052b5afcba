import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { splitAt } from "../support/answers.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { PostgresServer } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { Sluice, TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { type Nodes, startNodes, withPostgres } from "./nodes.ts";

/** What clients see of a gateway whose database is away, and that nothing is lost or charged twice by it. */

const path = "/v1/chat/completions";
const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], max_tokens: 1000 };

let postgres: PostgresServer;
let provider: ScriptedProvider;
let nodes: Nodes;
let node: Sluice;
let key: TestKey;

withPostgres(() => {
  beforeAll(async () => {
    postgres = new PostgresServer();
    provider = startProvider();
    nodes = await startNodes(1, postgres, provider);
    node = nodes.first;
    key = await node.createKey({ rpm: 100_000 });
  }, 120_000);
  afterEach(() => provider.reset());
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    provider.stop();
    postgres[Symbol.dispose]();
  });

  test("the end of a stream waits for its charge; what is new is told to come again, until the database is back", async () => {
    const gate = Promise.withResolvers<void>();
    const whole = answerFrom("chat/text.sse");
    const lastBytes = Buffer.from(fixture("chat/text.sse")).lastIndexOf("data: [DONE]");
    const [begin, end] = splitAt(whole, [lastBytes]).steps.filter((step) => "write" in step);
    provider.script({
      ...whole,
      steps: [begin ?? { write: "" }, { until: gate.promise }, end ?? { write: "" }],
    });
    const reader = new StreamReader(await node.request(path, { key, body: { ...body, stream: true } }));
    await reader.until('"finish_reason":"stop"');
    postgres.stop("immediate");
    gate.resolve();

    await waitFor(async () => (await node.request("/readyz")).status === 503, "the gateway not to be ready");
    expect((await node.request("/healthz")).status).toBe(200);
    const summary = await node.request("/v1/usage", { key });
    const asked = await node.request(path, { key, body });
    const once = await node.request(path, { key, body, headers: { "idempotency-key": "once" } });
    for (const refused of [summary, asked, once]) {
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await refused.text()).toContain("service_unavailable");
    }
    expect(reader.result().text).not.toContain("[DONE]");

    postgres.start();
    await reader.until("[DONE]");
    await waitFor(async () => (await node.request("/readyz")).status === 200, "the gateway to be ready");
    expect((await node.request(path, { key, body })).status).toBe(200);
    expect(provider.requests).toHaveLength(2);
    await waitFor(async () => (await reserved()) === 0, "what was held for the refused to be given back");
    const { ok } = await node.cliJson<{ ok: boolean }>("ledger", "audit");
    expect(ok).toBe(true);
    const { stdout } = await node.cli("ledger", "export", "--format", "jsonl", "--key", key.prefix);
    expect(stdout.match(/"kind":"charge"/g)).toHaveLength(2);
  }, 120_000);
});

async function reserved(): Promise<number> {
  const summary = await (await node.request("/v1/usage", { key })).json();
  return (summary as { credits: { reserved: number } }).credits.reserved;
}
