import { describe, expect, test } from "bun:test";
import { startTracing } from "../../src/observe/tracing.ts";
import { freePort } from "../support/free-port.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { attributesOf, startCollector } from "./collector.ts";
import { exchangeFacts, spanEvents } from "./fixtures.ts";

/** The processor sends as many at once without waiting for more. */
const spansPerBatch = 512;

const clientKind = 3;

const traced = {
  genAiProvider: "azure.ai.openai",
  server: { address: "house.openai.azure.com", port: 443 },
  upstreamModel: "gpt-5.6-2026-07-02",
  session: "sess-42",
  user: "ada",
  costUsd: 0.0025,
  parameters: { "gen_ai.request.temperature": 0.5, "gen_ai.request.reasoning.level": "high" },
  isCompacted: true,
  byModality: {
    input: { text: 100, audio: 20, image: 0 },
    cachedInput: { text: 0, audio: 20, image: 0 },
    output: { text: 30, audio: 0, image: 0 },
  },
};

const demo = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
free = true
context_window = 1000
max_output_tokens = 100
`;

function settingsFor(otlpEndpoint: string, protocol: "json" | "protobuf" = "protobuf") {
  return { otlpEndpoint, protocol, headers: { "x-team": "gateway" }, content: false, metrics: false };
}

describe("tracing", () => {
  test("is nothing at all without an endpoint", async () => {
    expect(await startTracing(null, "1", spanEvents())).toBeNull();
  });

  test.each([
    ["protobuf", "application/x-protobuf"],
    ["json", "application/json"],
  ] as const)(
    "sends a span of each generation as %s, named as in the GenAI conventions",
    async (protocol, type) => {
      await using collector = startCollector();
      const tracing = await startTracing(settingsFor(collector.url, protocol), "1.2.3", spanEvents());
      tracing?.observe(exchangeFacts({ traced }));
      tracing?.observe(exchangeFacts({ route: "/v1/models", tracedAs: null }));
      const failed = { outcome: "failed", status: 502, errorCode: "upstream_error", usage: null };
      tracing?.observe(exchangeFacts({ ...failed, route: "/token/v1/messages" }));
      await tracing?.close();

      expect(collector.paths).toEqual(["/v1/traces"]);
      expect(collector.headers[0]?.get("x-team")).toBe("gateway");
      expect(collector.headers[0]?.get("content-type")).toBe(type);
      const [good, bad, ...others] = collector.spans();
      expect(others).toEqual([]);
      expect(good?.name).toBe("chat house-model");
      expect(Number(good?.endTimeUnixNano) - Number(good?.startTimeUnixNano)).toBe(900_000_000);
      expect(attributesOf(good)).toMatchObject({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "azure.ai.openai",
        "gen_ai.request.stream": true,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.reasoning.level": "high",
        "gen_ai.conversation.compacted": true,
        "server.address": "house.openai.azure.com",
        "server.port": 443,
        "gen_ai.response.model": "gpt-5.6-2026-07-02",
        "gen_ai.conversation.id": "sess-42",
        "session.id": "sess-42",
        "user.id": "ada",
        "gen_ai.usage.cost": 0.0025,
        "llm.cost.total": 0.0025,

        "gen_ai.request.model": "house-model",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_write.input_tokens": 0,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.usage.text.input_tokens": 100,
        "gen_ai.usage.audio.input_tokens": 20,
        "gen_ai.usage.audio.cache_read.input_tokens": 20,
        "gen_ai.usage.text.output_tokens": 30,
        "http.response.status_code": 200,
        "sluice.request_id": "req_1",
      });
      expect(good?.kind).toBe(clientKind);
      expect(Object.keys(attributesOf(bad))).not.toContain("llm.cost.total");
      expect(Object.keys(attributesOf(bad))).not.toContain("gen_ai.conversation.compacted");
      expect(attributesOf(bad)).toMatchObject({
        "error.type": "upstream_error",
        "http.route": "/token/v1/messages",
      });
      expect(bad?.status.code).toBe(2);
    },
  );

  test("counts spans that the collector refuses, and reports it once until it accepts some again", async () => {
    await using collector = startCollector();
    const events = spanEvents();
    const tracing = await startTracing(settingsFor(collector.url), "1", events);
    const sendBatch = () => {
      for (let no = 0; no < spansPerBatch; no += 1) tracing?.observe(exchangeFacts());
    };
    collector.answers.refuses = 415;
    for (let batch = 1; batch <= 2; batch += 1) {
      sendBatch();
      await waitFor(() => events.spansDropped === batch * spansPerBatch, "the refusal");
    }
    expect(events.problems).toEqual(["returned 415: it does not accept this `protocol` (see `[tracing]`)"]);
    expect(tracing?.problem?.reason).toBe(events.problems[0] ?? "");
    collector.answers.refuses = null;
    sendBatch();
    await waitFor(() => tracing?.problem === null, "the recovery");
    expect(collector.spans().length).toBe(spansPerBatch);
    expect(events.spansDropped).toBe(2 * spansPerBatch);
    await tracing?.close();
  }, 30_000);

  test("reports a collector that cannot be reached without its address", async () => {
    const events = spanEvents();
    const tracing = await startTracing(settingsFor(`http://127.0.0.1:${freePort()}`), "1", events);
    tracing?.observe(exchangeFacts());
    await tracing?.close().catch(() => {});
    expect(events.spansDropped).toBe(1);
    expect(events.problems).toEqual(["cannot be reached (ECONNREFUSED)"]);
  }, 30_000);
});

test("a gateway whose collector refuses spans says so in its log, metrics and alerts", async () => {
  await using collector = startCollector();
  collector.answers.refuses = 415;
  const port = freePort();
  const config = `${demo}[admin]\nmetrics_listen = "127.0.0.1:${port}"\n[tracing]\notlp_endpoint = "${collector.url}"\n`;
  const sluice = await startSluice({ config });
  const key = await sluice.createKey();
  const body = { model: "demo", messages: [{ role: "user", content: "Hello" }] };
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await waitFor(async () => (await metrics()).includes("\nsluice_spans_dropped_total 1\n"), "the count");
  await waitFor(
    async () => (await metrics()).includes('\nsluice_alerts_active{kind="traces_dropped"} 1\n'),
    "the alert",
  );
  expect(sluice.output.split("traces dropped: the collector returned 415").length).toBe(2);
  await sluice.dispose();
}, 60_000);
