import { version } from "../../package.json";
import { startDeadline } from "../base/loop/deadline.ts";
import type { Settings } from "../config/settings.ts";
import type { TracedContent } from "../content/traced-content.ts";
import type { ExchangeFacts } from "../observe/exchange.ts";
import { startTracing, type Tracing } from "../observe/tracing.ts";

/** How long the last traces may take at a stop. */
const lastTracesMs = 2000;

/** The tracing in force, which a reload may replace. A collector that is gone holds up neither a reload nor a stop. */
export class CurrentTracing {
  readonly #onUnsent: (error: unknown) => void;
  #tracing: Tracing | null = null;
  /** Told about each span whose content is not sent, because the collector is slow. */
  onContentDropped: () => void = () => {};
  /** Spans whose content is being read. */
  readonly #waiting = new Set<Promise<void>>();

  /** `onUnsent` is told why the last traces could not be sent. */
  constructor(onUnsent: (error: unknown) => void) {
    this.#onUnsent = onUnsent;
  }

  /** `content` is what the request says, once that was read. */
  observe(facts: ExchangeFacts, content: Promise<TracedContent | null> | null): void {
    if (this.#tracing === null) return;
    if (content === null) {
      this.#tracing.observe(facts);
      return;
    }
    const observed = content.then((said) => this.#tracing?.observe(facts, said?.attributes));
    this.#waiting.add(observed);
    void observed.catch(this.#onUnsent).finally(() => this.#waiting.delete(observed));
  }

  /** What the old one still has to send is sent in its own time. */
  async replace(settings: Settings["tracing"]): Promise<void> {
    const before = this.#tracing;
    this.#tracing = await startTracing(settings, version, () => this.onContentDropped());
    before?.close().catch(this.#onUnsent);
  }

  async close(): Promise<void> {
    if (this.#tracing === null) return;
    const late = Promise.withResolvers<void>();
    const cancelDeadline = startDeadline(lastTracesMs, () =>
      late.reject(new Error("The collector of traces takes too long.")),
    );
    const tracing = this.#tracing;
    const sent = Promise.allSettled(this.#waiting).then(() => tracing.close());
    await Promise.race([sent, late.promise]).catch(this.#onUnsent);
    cancelDeadline();
  }
}
