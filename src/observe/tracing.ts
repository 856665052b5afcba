import type { IdGenerator } from "@opentelemetry/sdk-trace";
import { randomHex, type TraceContext } from "../base/requests/trace-context.ts";
import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts, TracedFacts } from "./exchange.ts";
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
    new OTLPTraceExporter({ url: tracesUrl(settings.otlpEndpoint), headers: { ...settings.headers } }),
    events,
  );
  const ids = new PresetIds();
  const provider = new sdk.TracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({ "service.name": "sluice", "service.version": version }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: outbox, maxQueueSize: maxWaitingSpans })],
  });
  const tracer = provider.getTracer("sluice", version);
  return {
    get problem() {
      return outbox.problem;
    },
    observe: (facts, content) => {
      const { tracedAs } = facts;
      if (tracedAs === null) return;
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
    close: () => provider.shutdown(),
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

/** Collectors are configured by their base URL, but the exporter needs the URL for traces. */
function tracesUrl(endpoint: string): string {
  return endpoint.endsWith("/v1/traces") ? endpoint : `${endpoint.replace(/\/+$/, "")}/v1/traces`;
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
  return facts.usage === null ? attributes : { ...attributes, ...tokensOf(facts.usage) };
}

/** Phoenix and Langfuse group by `session.id` and `user.id`. The conventions have no cost, so each tool has its own name for it. */
function tracedAttributes(traced: TracedFacts): Record<string, string | number | null> {
  const { genAiProvider, upstreamModel, session, user, costUsd } = traced;
  return {
    "gen_ai.provider.name": genAiProvider,
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
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
  };
}
