import { CannotListen, listenAddress, openPort } from "../base/open-port.ts";
import { type MetricsSource, metricsResponse } from "./metrics-response.ts";

interface OpenListener {
  stop(): Promise<void>;
}

const setting = "admin.metrics_listen";

/**
 * `admin.metrics_listen`: serves only the metrics, without authentication. Bind it where only the collector can
 * reach it.
 */
async function listenForMetrics(address: string, source: MetricsSource): Promise<OpenListener> {
  // The port is never shared: the collector would read figures of different processes in turn.
  const where = listenAddress(address, setting);
  const server = await openPort(where, (options) =>
    Bun.serve({
      ...options,
      development: false,
      // Matched by Bun's router, which does not normalise the path.
      routes: { "/metrics": () => metricsResponse(source) },
      fetch: () => new Response("The metrics are at /metrics.\n", { status: 404 }),
    }),
  );
  return { stop: () => server.stop(true) };
}

/** The metrics listener that the configuration asks for, if any. */
export class MetricsListener {
  readonly #source: MetricsSource;
  #address: string | null;
  #listener: OpenListener | null;

  private constructor(source: MetricsSource, address: string | null, listener: OpenListener | null) {
    this.#source = source;
    this.#address = address;
    this.#listener = listener;
  }

  static async open(address: string | null, source: MetricsSource): Promise<MetricsListener> {
    const listener = address === null ? null : await listenForMetrics(address, source);
    return new MetricsListener(source, address, listener);
  }

  get address(): string | null {
    return this.#address;
  }

  /** Closes the old listener first, since both may want the same port; reopens it if the new one cannot be opened. */
  async moveTo(address: string | null): Promise<readonly string[]> {
    if (address === this.#address) return [];
    await this.#listener?.stop();
    try {
      this.#listener = address === null ? null : await listenForMetrics(address, this.#source);
      this.#address = address;
      return [];
    } catch (error) {
      if (!(error instanceof CannotListen)) throw error;
      this.#listener = this.#address === null ? null : await listenForMetrics(this.#address, this.#source);
      return [`admin.metrics_listen stays as it was: ${error.message}`];
    }
  }

  async close(): Promise<void> {
    await this.#listener?.stop();
  }
}
