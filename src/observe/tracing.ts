import type { IdGenerator } from "@opentelemetry/sdk-trace";
import { randomHex, type TraceContext } from "../base/requests/trace-context.ts";
import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts, ModalityTokens, TokensByModality, TracedFacts } from "./exchange.ts";
import { otlpUrl, startInferenceMetrics } from "./inference-metrics.ts";
import type { SpanContent, SpanEvents, TracingProblem } from "./span-outbox.ts";

export interface Tracing {
  /** Why spans do not reach the collector; null while they do. */
  readonly problem: TracingProblem | null;
  /** `content` is the recorded conversation, if spans are to include it. */
  observe(facts: ExchangeFacts, content?: SpanContent): void;
  /** Sends the spans that are still buffered. */
  close(): Promise<void>;
}

/**
 * Sends one span per generation request by OTLP over HTTP, if an endpoint is configured. The packages are imported only
 * here and only then, so that tracing costs nothing while it is off.
 */
export async function startTracing(
  settings: Settings["tracing"],
  version: string,
  events: SpanEvents,
): Promise<Tracing | null> {
  if (settings === null) return null;
  const [
    { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace },
    sdk,
    { OTLPTraceExporter },
    { resourceFromAttributes },
    { maxWaitingSpans, SpanOutbox },
  ] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    settings.protocol === "json"
      ? import("@opentelemetry/exporter-trace-otlp-http")
      : import("@opentelemetry/exporter-trace-otlp-proto"),
    import("@opentelemetry/resources"),
    import("./span-outbox.ts"),
  ]);
  const outbox = new SpanOutbox(
    new OTLPTraceExporter({
      url: otlpUrl(settings.otlpEndpoint, "traces"),
      headers: { ...settings.headers },
    }),
    events,
  );
  const ids = new PresetIds();
  const provider = new sdk.TracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({ "service.name": "sluice", "service.version": version }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: outbox, maxQueueSize: maxWaitingSpans })],
  });
  const tracer = provider.getTracer("sluice", version);
  const metrics = settings.metrics ? await startInferenceMetrics(settings, version) : null;
  return {
    get problem() {
      return outbox.problem;
    },
    observe: (facts, content) => {
      const { tracedAs } = facts;
      if (tracedAs === null) return;
      metrics?.record(facts, tracedAs);
      if (outbox.isFull) {
        outbox.drop(content);
        return;
      }
      const name = facts.model === null ? tracedAs : `${tracedAs} ${facts.model}`;
      const attributes = attributesOf(facts, tracedAs);
      const parent = parentOf(facts.trace);
      const context =
        parent === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              ...parent,
              isRemote: true,
              ...(parent.state === null ? {} : { traceState: createTraceState(parent.state) }),
            });
      ids.next = facts.trace;
      const options = { kind: SpanKind.CLIENT, startTime: facts.atMs, attributes };
      const span = tracer.startSpan(name, options, context);
      // The caller may have decided not to sample the trace.
      if (span.isRecording()) outbox.take(span, content);
      if (facts.errorCode !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: facts.errorCode });
      span.end(facts.atMs + facts.totalMs);
    },
    close: async () => {
      await Promise.all([provider.shutdown(), metrics?.close()]);
    },
  };
}

/** Generates predefined ids: they were sent to the provider before the span is created. */
class PresetIds implements IdGenerator {
  next: TraceContext | null = null;

  generateTraceId(): string {
    return this.next?.traceId ?? randomHex(16);
  }

  generateSpanId(): string {
    return this.next?.spanId ?? randomHex(8);
  }
}

/** The caller's span. */
function parentOf(context: TraceContext | null) {
  if (context === null || context.parentId === null) return null;
  const { traceId, parentId: spanId, flags, state } = context;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, state };
}

type Attributes = Record<string, string | number | boolean>;

/** https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/; fields without a name there are `sluice.*`. */
function attributesOf(facts: ExchangeFacts, tracedAs: string): Attributes {
  const attributes: Attributes = {
    "gen_ai.operation.name": tracedAs,
    "gen_ai.request.stream": facts.stream,
    "http.request.method": facts.method,
    "http.route": facts.route,
    "http.response.status_code": facts.status,
    "sluice.request_id": facts.requestId,
    "sluice.outcome": facts.outcome,
    "sluice.attempts": facts.attempts,
    "sluice.charge": facts.charged,
    "sluice.charge_unit": facts.mode === "token_budget" ? "tokens" : "nano_credits",
    ...facts.traced?.parameters,
  };
  const optional = {
    "gen_ai.request.model": facts.model,
    "sluice.provider": facts.provider,
    "sluice.deployment": facts.deployment,
    "sluice.key_prefix": facts.keyPrefix,
    "error.type": facts.errorCode,
    "gen_ai.response.time_to_first_chunk": facts.firstByteMs === null ? null : facts.firstByteMs / 1000,
    ...(facts.traced === null ? {} : tracedAttributes(facts.traced)),
  };
  for (const [name, value] of Object.entries(optional)) if (value !== null) attributes[name] = value;
  if (facts.usage === null) return attributes;
  return { ...attributes, ...tokensOf(facts.usage), ...modalityAttributes(facts.traced?.byModality ?? null) };
}

/** Phoenix and Langfuse group by `session.id` and `user.id`. The conventions have no cost, so each tool has its own name for it. */
function tracedAttributes(traced: TracedFacts): Record<string, string | number | boolean | null> {
  const { genAiProvider, server, upstreamModel, session, user, costUsd, isCompacted } = traced;
  return {
    "gen_ai.provider.name": genAiProvider,
    "server.address": server?.address ?? null,
    "server.port": server?.port ?? null,
    // The conventions have no false: it would claim that nothing was summarized elsewhere.
    "gen_ai.conversation.compacted": isCompacted || null,
    "gen_ai.response.model": upstreamModel,
    "gen_ai.conversation.id": session,
    "session.id": session,
    "user.id": user,
    "gen_ai.usage.cost": costUsd,
    "llm.cost.total": costUsd,
  };
}

/** In the conventions, cached input is part of the input. */
function tokensOf(usage: NonNullable<ExchangeFacts["usage"]>): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
    "gen_ai.usage.cache_write.input_tokens": usage.cacheWriteTokens,
    // Its name until August 2026. Langfuse and others read one or the other.
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
  };
}

/** Only where the provider reported sound or images. */
function modalityAttributes(tokens: TokensByModality | null): Attributes {
  if (tokens === null) return {};
  const { input, cachedInput, output } = tokens;
  return {
    ...eachModality(input, "input_tokens"),
    ...eachModality(cachedInput, "cache_read.input_tokens"),
    ...eachModality(output, "output_tokens"),
  };
}

function eachModality(tokens: ModalityTokens, name: string): Attributes {
  const known = Object.entries(tokens).filter(([, count]) => count > 0);
  return Object.fromEntries(known.map(([modality, count]) => [`gen_ai.usage.${modality}.${name}`, count]));
}
