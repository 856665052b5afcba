import { version } from "../../package.json";
import { startDeadline } from "../base/deadline.ts";
import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts } from "../observe/exchange.ts";
import { startTracing, type Tracing } from "../observe/tracing.ts";

/** How long the last traces may take at a stop. */
const lastTracesMs = 2000;

/** The tracing in force, which a reload may replace. A collector that is gone holds up neither a reload nor a stop. */
export class CurrentTracing {
  readonly #onUnsent: (error: unknown) => void;
  #tracing: Tracing | null = null;

  /** `onUnsent` is told why the last traces could not be sent. */
  constructor(onUnsent: (error: unknown) => void) {
    this.#onUnsent = onUnsent;
  }

  observe(facts: ExchangeFacts): void {
    this.#tracing?.observe(facts);
  }

  /** What the old one still has to send is sent in its own time. */
  async replace(settings: Settings["tracing"]): Promise<void> {
    const before = this.#tracing;
    this.#tracing = await startTracing(settings, version);
    before?.close().catch(this.#onUnsent);
  }

  async close(): Promise<void> {
    if (this.#tracing === null) return;
    const late = Promise.withResolvers<void>();
    const cancelDeadline = startDeadline(lastTracesMs, () =>
      late.reject(new Error("The collector of traces takes too long.")),
    );
    await Promise.race([this.#tracing.close(), late.promise]).catch(this.#onUnsent);
    cancelDeadline();
  }
}
