import { expect, test } from "bun:test";
import { operations } from "../../src/gateway/operations.ts";
import { startTracing } from "../../src/observe/tracing.ts";
import { genAiProviderName } from "../../src/vendors/registry.ts";
import { readSources } from "../architecture/imports.ts";
import { attributesOf, startCollector } from "./collector.ts";
import { exchangeFacts, spanEvents } from "./fixtures.ts";
import registry from "./genai-registry.json";

/** The names of OpenTelemetry's GenAI conventions, as of the copy in genai-registry.json. */

/** What the conventions have no name for, or had another one. */
const ownNames = new Set(["gen_ai.usage.cost", "gen_ai.usage.cache_creation.input_tokens"]);

test("every attribute that the source names is in the registry, but for those that the manual explains", async () => {
  const known = new Set([...registry.attributes, ...ownNames]);
  const named = readSources("src").flatMap(({ text }) =>
    [...text.matchAll(/"(gen_ai\.(?!client\.)[a-z_.]+)"/g)].map(([, name = ""]) => name),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  const manual = await Bun.file("docs/monitoring.md").text();
  for (const name of ownNames) expect(manual).toContain(`\`${name}\``);
});

const byModality = {
  input: { text: 60, audio: 40, image: 20 },
  cachedInput: { text: 5, audio: 10, image: 5 },
  output: { text: 10, audio: 10, image: 10 },
};
const traced = {
  genAiProvider: "openai",
  server: { address: "api.openai.com", port: 443 },
  upstreamModel: "gpt-audio",
  session: null,
  user: null,
  costUsd: null,
  parameters: {},
  isCompacted: false,
  byModality,
};

function settingsFor(otlpEndpoint: string) {
  return { otlpEndpoint, protocol: "json" as const, headers: {}, content: false, metrics: true };
}

test("every attribute of a span and every metric is in the registry, with its unit", async () => {
  await using collector = startCollector();
  const tracing = await startTracing(settingsFor(`${collector.url}/v1/traces`), "1", spanEvents());
  tracing?.observe(exchangeFacts({ traced }));
  await tracing?.close();
  const [span] = collector.spans();
  const names = Object.keys(attributesOf(span)).filter((name) => name.startsWith("gen_ai."));
  const known = new Set([...registry.attributes, ...ownNames]);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  expect(names).toContain("gen_ai.usage.image.cache_read.input_tokens");
  const metrics = collector.metrics();
  expect(metrics.filter(({ name }) => !registry.metrics.includes(name))).toEqual([]);
  for (const { name, unit } of metrics)
    expect([name, unit]).toEqual([name, name.endsWith("tokens") ? "{token}" : "s"]);
});

test("the routes are traced as operations of the registry, or as what it has no name for", () => {
  const others = new Set(["transcription", "image_generation", "rerank", "speech", "moderations"]);
  for (const { tracedAs } of operations)
    if (tracedAs !== null && !others.has(tracedAs)) expect(registry.operations).toContain(tracedAs);
  expect(operations.find(({ dialect }) => dialect === "gemini")?.tracedAs).toBe("generate_content");
});

test.each([
  ["openai", "https://api.openai.com/v1", "openai"],
  ["anthropic", "https://api.anthropic.com", "anthropic"],
  ["azure", "https://x.openai.azure.com", "azure.ai.openai"],
  ["gemini", "https://generativelanguage.googleapis.com", "gcp.gemini"],
  ["vertex", "https://aiplatform.googleapis.com", "gcp.vertex_ai"],
  ["bedrock", "https://bedrock-runtime.eu-central-1.amazonaws.com", "aws.bedrock"],
  ["openai-compatible", "https://api.mistral.ai/v1", "mistral_ai"],
  ["openai-compatible", "https://api.x.ai/v1", "x_ai"],
])("a provider of kind %s at %s has its name in the registry", (kind, baseUrl, name) => {
  // Only these two decide about the name.
  const settings = { kind, baseUrl, name: "mine" } as Parameters<typeof genAiProviderName>[0];
  expect(genAiProviderName(settings)).toBe(name);
  expect(registry.providers).toContain(name);
});

test("counters have what a request used by modality, histograms each request once", async () => {
  await using collector = startCollector();
  const tracing = await startTracing(settingsFor(collector.url), "1", spanEvents());
  tracing?.observe(exchangeFacts({ traced, firstByteMs: 40, totalMs: 900 }));
  tracing?.observe(exchangeFacts({ traced: { ...traced, byModality: null } }));
  tracing?.observe(exchangeFacts({ usage: null, errorCode: "upstream_error", status: 502 }));
  tracing?.observe(exchangeFacts({ tracedAs: "embeddings" }));
  await tracing?.close();
  const points = (name: string) => {
    const found = collector.metrics().find((metric) => metric.name === `gen_ai.client.${name}`);
    return (found?.sum ?? found?.histogram)?.dataPoints ?? [];
  };
  const byModalityOf = (name: string) =>
    Object.fromEntries(
      points(`inference.usage.${name}`).map((point) => [
        attributesOf(point)["gen_ai.token.modality"],
        point.asDouble,
      ]),
    );
  expect(byModalityOf("input_tokens")).toEqual({ text: 60, audio: 40, image: 20, unknown: 120 });
  expect(byModalityOf("output_tokens")).toEqual({ text: 10, audio: 10, image: 10, unknown: 30 });
  expect(byModalityOf("cache_read.input_tokens")).toEqual({ text: 5, audio: 10, image: 5, unknown: 20 });
  const sizes = points("inference.operation.input_tokens");
  expect(sizes.map(({ count, sum }) => [count, sum])).toEqual([[2, 240]]);
  expect(attributesOf(sizes[0])).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "house-model",
    "gen_ai.provider.name": "openai",
    "gen_ai.response.model": "gpt-audio",
    "server.address": "api.openai.com",
    "server.port": 443,
  });
  const durations = points("inference.duration").map((point) => [
    attributesOf(point)["error.type"],
    point.count,
  ]);
  expect(durations).toEqual([
    [undefined, 2],
    ["upstream_error", 1],
  ]);
  expect(points("operation.duration").map(({ count }) => count)).toEqual([1]);
  expect(points("inference.time_to_first_chunk")[0]?.explicitBounds?.[0]).toBe(0.001);
});
