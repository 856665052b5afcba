import type { Span } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";

/** How many spans can wait to be sent. The processor would drop more without reporting it. */
export const maxWaitingSpans = 2048;
/** How many characters of content can wait. They are serialized in one go, which must not block the event loop. */
const maxWaitingContent = 8_000_000;

export type SpanContent = Readonly<Record<string, string>>;

/** Limits what waits to be sent, so that a slow collector costs a bounded amount of memory. */
export class SpanOutbox implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #onDropped: () => void;
  #spans = 0;
  #content = 0;

  /** `onDropped` is called for each span whose content is not sent. */
  constructor(exporter: SpanExporter, onDropped: () => void) {
    this.#exporter = exporter;
    this.#onDropped = onDropped;
  }

  get isFull(): boolean {
    return this.#spans >= maxWaitingSpans;
  }

  /** Adds a span. Its content is dropped if there is no room for it. */
  take(span: Span, content: SpanContent | undefined): void {
    this.#spans += 1;
    if (content === undefined) return;
    const length = lengthOf(Object.values(content));
    if (this.#content + length > maxWaitingContent) {
      this.#onDropped();
      return;
    }
    this.#content += length;
    span.setAttributes(content);
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.#exporter.export(spans, (result) => {
      this.#spans -= spans.length;
      for (const { attributes } of spans) this.#content -= lengthOf(contentIn(attributes));
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

const contentNames = [
  "gen_ai.system_instructions",
  "gen_ai.tool.definitions",
  "gen_ai.input.messages",
  "gen_ai.output.messages",
] as const;

function contentIn(attributes: ReadableSpan["attributes"]): readonly unknown[] {
  return contentNames.map((name) => attributes[name]);
}

function lengthOf(texts: readonly unknown[]): number {
  return texts.reduce<number>((sum, text) => sum + (typeof text === "string" ? text.length : 0), 0);
}
