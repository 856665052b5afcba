import type { ServerSettings } from "../config/settings.ts";
import type { Edge } from "./edge.ts";

export interface Listening {
  readonly url: string;
  stop(): Promise<void>;
}

/** Bun answers what is larger with an empty 413 before any code runs, so the limit of our own must come first. */
const backstopFactor = 2;

/** Seconds; generation requests switch it off for themselves, since a provider may think for long. */
const idleTimeoutSeconds = 30;

export function listen(edge: Edge, settings: ServerSettings): Listening {
  const server = Bun.serve({
    hostname: settings.host,
    port: settings.port,
    idleTimeout: idleTimeoutSeconds,
    maxRequestBodySize: settings.maxBodyBytes * backstopFactor,
    development: false,
    fetch: (request, onServer) => edge.fetch(request, onServer),
  });
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  return { url: `http://${host}:${server.port}`, stop: () => server.stop(true) };
}
