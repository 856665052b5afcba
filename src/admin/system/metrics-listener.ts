import { CannotListen, listenAddress, openPort } from "../../base/system/open-port.ts";
import { type MetricsSource, metricsResponse } from "./metrics-response.ts";

/** `admin.metrics_listen`: serves only the metrics, without authentication. Bind it where only the collector can reach it. */
function listenForMetrics(address: string, source: MetricsSource) {
  // The port is never shared: the collector would read figures of different processes in turn.
  return openPort(listenAddress(address, "admin.metrics_listen"), (options) =>
    Bun.serve({
      ...options,
      development: false,
      // Matched by Bun's router, which does not normalise the path.
      routes: { "/metrics": () => metricsResponse(source) },
      fetch: () => new Response("The metrics are at /metrics.\n", { status: 404 }),
    }),
  );
}

/** Opens the configured listener, if any. */
export async function openMetricsListener(configured: string | null, source: MetricsSource) {
  const open = async (at: string | null) => (at === null ? null : listenForMetrics(at, source));
  let address = configured;
  let server = await open(address);
  return {
    get address(): string | null {
      return address;
    },
    /** Closes the old listener first, since both may want the same port; reopens it if the new one cannot be opened. */
    async moveTo(next: string | null): Promise<readonly string[]> {
      if (next === address) return [];
      await server?.stop(true);
      try {
        server = await open(next);
        address = next;
        return [];
      } catch (error) {
        if (!(error instanceof CannotListen)) throw error;
        server = await open(address);
        return [`admin.metrics_listen was not changed: ${error.message}`];
      }
    },
    async close(): Promise<void> {
      await server?.stop(true);
    },
  };
}
