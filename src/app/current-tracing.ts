import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts } from "../observe/exchange.ts";
import { startTracing, type Tracing } from "../observe/tracing.ts";

/** The tracing in force, which a reload may replace. */
export class CurrentTracing {
  readonly #version: string;
  #tracing: Tracing | null;

  private constructor(tracing: Tracing | null, version: string) {
    this.#tracing = tracing;
    this.#version = version;
  }

  static async start(settings: Settings["tracing"], version: string): Promise<CurrentTracing> {
    return new CurrentTracing(await startTracing(settings, version), version);
  }

  observe(facts: ExchangeFacts): void {
    this.#tracing?.observe(facts);
  }

  /** What the old one still has to send is sent in its own time: a collector that is gone must not hold up a reload. */
  async replace(settings: Settings["tracing"], onUnsent: (error: unknown) => void): Promise<void> {
    const before = this.#tracing;
    this.#tracing = await startTracing(settings, this.#version);
    before?.close().catch(onUnsent);
  }

  async close(): Promise<void> {
    await this.#tracing?.close();
  }
}
