import { type MetricsSource, metricsResponse } from "./metrics-response.ts";

export interface MetricsListener {
  readonly url: string;
  stop(): Promise<void>;
}

/** `admin.metrics_listen`: nothing but the metrics, and open. Bind it where only the collector comes. */
export function listenForMetrics(address: string, source: MetricsSource): MetricsListener {
  const colon = address.lastIndexOf(":");
  const hostname = address.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const server = Bun.serve({
    hostname,
    port: Number(address.slice(colon + 1)),
    development: false,
    fetch: (request) =>
      new URL(request.url).pathname === "/metrics"
        ? metricsResponse(source)
        : new Response("The metrics are at /metrics.\n", { status: 404 }),
  });
  return { url: `http://${address.slice(0, colon)}:${server.port}`, stop: () => server.stop(true) };
}
