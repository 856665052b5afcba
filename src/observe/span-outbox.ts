import type { Span } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { systemCode } from "../base/system/system-code.ts";

/** Maximum number of spans that wait to be sent. The processor would drop more without reporting it. */
export const maxWaitingSpans = 2048;
/** Maximum characters of content that wait. They are serialized in one go, which must not block the event loop. */
const maxWaitingContent = 8_000_000;

export type SpanContent = Readonly<Record<string, string | string[]>>;

export interface SpanEvents {
  /** A span is sent without its content, or not at all. */
  onContentDropped(): void;
  onSpansDropped(count: number): void;
  /** Spans do not reach the collector, for the first time since they last did. */
  onProblem(reason: string): void;
}

export interface TracingProblem {
  /** Continues "The collector …". */
  readonly reason: string;
  readonly sinceMs: number;
}

/** Limits what waits to be sent, so that a slow collector costs a bounded amount of memory, and knows what does not arrive. */
export class SpanOutbox implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #events: SpanEvents;
  #spans = 0;
  #content = 0;
  #problem: TracingProblem | null = null;

  constructor(exporter: SpanExporter, events: SpanEvents) {
    this.#exporter = exporter;
    this.#events = events;
  }

  get isFull(): boolean {
    return this.#spans >= maxWaitingSpans;
  }

  get problem(): TracingProblem | null {
    return this.#problem;
  }

  /** Adds a span. Its content is dropped if there is no room for it. */
  take(span: Span, content: SpanContent | undefined): void {
    this.#spans += 1;
    if (content === undefined) return;
    const length = lengthOf(contentIn(content));
    if (this.#content + length > maxWaitingContent) {
      this.#events.onContentDropped();
      return;
    }
    this.#content += length;
    span.setAttributes(content);
  }

  /** Notes a span that is not created, because the outbox is full. */
  drop(content: SpanContent | undefined): void {
    if (content !== undefined) this.#events.onContentDropped();
    this.#noteDropped(1, "is too slow");
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.#exporter.export(spans, (result) => {
      this.#spans -= spans.length;
      for (const { attributes } of spans) this.#content -= lengthOf(contentIn(attributes));
      if (result.code === exported) this.#problem = null;
      else this.#noteDropped(spans.length, reasonOf(result.error));
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #noteDropped(count: number, reason: string): void {
    this.#events.onSpansDropped(count);
    if (this.#problem?.reason === reason) return;
    if (this.#problem === null) this.#events.onProblem(reason);
    this.#problem = { reason, sinceMs: this.#problem?.sinceMs ?? Date.now() };
  }
}

/** `ExportResultCode.SUCCESS` of a package that is otherwise not needed. */
const exported = 0;

/** Leaves out the error's message: it can quote the collector's response, or an address with a password. */
function reasonOf(error: unknown): string {
  const status = error instanceof Error && "code" in error ? error.code : undefined;
  if (status === 415) return "returned 415: it does not accept this `protocol` (see `[tracing]`)";
  if (typeof status === "number") return `returned ${status}`;
  const code = systemCode(error);
  if (code !== null) return `cannot be reached (${code})`;
  return "did not respond in time, or is overloaded";
}

const contentNames = [
  "gen_ai.system_instructions",
  "gen_ai.tool.definitions",
  "gen_ai.input.messages",
  "gen_ai.output.messages",
] as const;

function contentIn(attributes: ReadableSpan["attributes"] | SpanContent): readonly unknown[] {
  return contentNames.map((name) => attributes[name]);
}

function lengthOf(texts: readonly unknown[]): number {
  return texts.reduce<number>((sum, text) => sum + (typeof text === "string" ? text.length : 0), 0);
}
