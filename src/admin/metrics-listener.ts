import { CannotListen, listenAddress, openPort } from "../base/open-port.ts";
import { type MetricsSource, metricsResponse } from "./metrics-response.ts";

interface MetricsListener {
  stop(): Promise<void>;
}

const setting = "admin.metrics_listen";

/** `admin.metrics_listen`: nothing but the metrics, and open. Bind it where only the collector comes. */
async function listenForMetrics(address: string, source: MetricsSource): Promise<MetricsListener> {
  // Never shared: the collector would read now this process's figures, now another's.
  const where = listenAddress(address, setting);
  const server = await openPort(where, (options) =>
    Bun.serve({
      ...options,
      development: false,
      // By the server's own router, which does not resolve what a path is made of.
      routes: { "/metrics": () => metricsResponse(source) },
      fetch: () => new Response("The metrics are at /metrics.\n", { status: 404 }),
    }),
  );
  return { stop: () => server.stop(true) };
}

/** The listener that the configuration asks for now, if any. */
export class MetricsDoor {
  readonly #source: MetricsSource;
  #address: string | null;
  #listener: MetricsListener | null;

  private constructor(source: MetricsSource, address: string | null, listener: MetricsListener | null) {
    this.#source = source;
    this.#address = address;
    this.#listener = listener;
  }

  static async open(address: string | null, source: MetricsSource): Promise<MetricsDoor> {
    const listener = address === null ? null : await listenForMetrics(address, source);
    return new MetricsDoor(source, address, listener);
  }

  /** The address in force. */
  get address(): string | null {
    return this.#address;
  }

  /** The old listener goes first, since both may want the same port; it comes back when the new one cannot be opened. */
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
