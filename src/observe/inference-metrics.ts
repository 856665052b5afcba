import type { Attributes } from "@opentelemetry/api";
import { totalInput } from "../base/usage/usage.ts";
import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts, ModalityTokens } from "./exchange.ts";

/** The instruments of OpenTelemetry's GenAI conventions, sent by OTLP. */
export interface InferenceMetrics {
  record(facts: ExchangeFacts, operation: string): void;
  /** Sends what is not sent yet. */
  close(): Promise<void>;
}

const sendEveryMs = 60_000;

/** The conventions' boundaries. */
const secondsBuckets = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const chunkBuckets = [
  ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
];
const tokenBuckets = [
  1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
];

/** Inference, in the conventions' names of operations. All others have a duration of their own. */
const inferences: ReadonlySet<string> = new Set(["chat", "generate_content", "text_completion"]);

/** Collectors are configured by their base URL, or by the URL for traces. The exporters need one for each kind of data. */
export function otlpUrl(endpoint: string, kind: "traces" | "metrics"): string {
  return `${endpoint.replace(/\/v1\/traces$/, "").replace(/\/+$/, "")}/v1/${kind}`;
}

/** The packages are imported only here and only then, so that they cost nothing while this is off. */
export async function startInferenceMetrics(
  { otlpEndpoint, headers, protocol }: NonNullable<Settings["tracing"]>,
  version: string,
): Promise<InferenceMetrics> {
  const [sdk, { OTLPMetricExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/sdk-metrics"),
    protocol === "json"
      ? import("@opentelemetry/exporter-metrics-otlp-http")
      : import("@opentelemetry/exporter-metrics-otlp-proto"),
    import("@opentelemetry/resources"),
  ]);
  const exporter = new OTLPMetricExporter({ url: otlpUrl(otlpEndpoint, "metrics"), headers: { ...headers } });
  const provider = new sdk.MeterProvider({
    resource: resourceFromAttributes({ "service.name": "sluice", "service.version": version }),
    readers: [new sdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: sendEveryMs })],
  });
  const meter = provider.getMeter("sluice", version);
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(`gen_ai.client.${name}`, { unit, advice: { explicitBucketBoundaries } });
  const counter = (name: string) =>
    meter.createCounter(`gen_ai.client.inference.usage.${name}`, { unit: "{token}" });
  const durations = {
    inference: histogram("inference.duration", "s", secondsBuckets),
    other: histogram("operation.duration", "s", secondsBuckets),
  };
  const firstChunk = histogram("inference.time_to_first_chunk", "s", chunkBuckets);
  const sizes = {
    input: histogram("inference.operation.input_tokens", "{token}", tokenBuckets),
    output: histogram("inference.operation.output_tokens", "{token}", tokenBuckets),
  };
  const counters = {
    input: counter("input_tokens"),
    output: counter("output_tokens"),
    cacheRead: counter("cache_read.input_tokens"),
    cacheWrite: counter("cache_write.input_tokens"),
    reasoning: counter("reasoning.output_tokens"),
  };
  return {
    record(facts, operation) {
      const attributes = attributesOf(facts, operation);
      const { errorCode, usage, traced, firstByteMs, totalMs, stream } = facts;
      const isInference = inferences.has(operation);
      const ended = errorCode === null ? attributes : { ...attributes, "error.type": errorCode };
      durations[isInference ? "inference" : "other"].record(totalMs / 1000, ended);
      if (!isInference) return;
      if (stream && firstByteMs !== null) firstChunk.record(firstByteMs / 1000, attributes);
      if (usage === null) return;
      const { byModality = null } = traced ?? {};
      const input = totalInput(usage);
      sizes.input.record(input, attributes);
      sizes.output.record(usage.outputTokens, attributes);
      addEach(counters.input, input, byModality?.input, attributes);
      addEach(counters.output, usage.outputTokens, byModality?.output, attributes);
      addEach(counters.cacheRead, usage.cachedInputTokens, byModality?.cachedInput, attributes);
      if (usage.cacheWriteTokens > 0) counters.cacheWrite.add(usage.cacheWriteTokens, attributes);
      if (usage.reasoningTokens > 0) counters.reasoning.add(usage.reasoningTokens, attributes);
    },
    close: () => provider.shutdown(),
  };
}

interface TokenCounter {
  add(count: number, attributes: Attributes): void;
}

/** `unknown` where the provider did not report what the tokens are of. */
function addEach(
  counter: TokenCounter,
  all: number,
  tokens: ModalityTokens | undefined,
  attributes: Attributes,
): void {
  for (const [modality, count] of Object.entries(tokens ?? { unknown: all })) {
    if (count > 0) counter.add(count, { ...attributes, "gen_ai.token.modality": modality });
  }
}

/** None has a key, a session or a person: each value is a time series. A model without an entry has a name of the client's. */
function attributesOf(
  { model, isUnlistedModel, traced }: ExchangeFacts,
  operation: string,
): Record<string, string | number> {
  const attributes = {
    "gen_ai.operation.name": operation,
    "gen_ai.request.model": isUnlistedModel === true ? null : model,
    "gen_ai.provider.name": traced?.genAiProvider ?? null,
    "gen_ai.response.model": isUnlistedModel === true ? null : (traced?.upstreamModel ?? null),
    "server.address": traced?.server?.address ?? null,
    "server.port": traced?.server?.port ?? null,
  };
  const known: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== null) known[name] = value;
  return known;
}
