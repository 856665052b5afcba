import { openPort } from "../base/open-port.ts";
import { type MetricsSource, metricsResponse } from "./metrics-response.ts";

export interface MetricsListener {
  readonly url: string;
  stop(): Promise<void>;
}

const setting = "admin.metrics_listen";

/** `admin.metrics_listen`: nothing but the metrics, and open. Bind it where only the collector comes. */
export async function listenForMetrics(address: string, source: MetricsSource): Promise<MetricsListener> {
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const port = Number(address.slice(colon + 1));
  // Never shared: the collector would read now this process's figures, now another's.
  const where = { host, port, reusePort: false, hostSetting: setting, portSetting: setting };
  const server = await openPort(where, (options) =>
    Bun.serve({
      ...options,
      development: false,
      fetch: (request) =>
        new URL(request.url).pathname === "/metrics"
          ? metricsResponse(source)
          : new Response("The metrics are at /metrics.\n", { status: 404 }),
    }),
  );
  return { url: `http://${address.slice(0, colon)}:${server.port}`, stop: () => server.stop(true) };
}
