import type { Server } from "bun";
import { type ListenAddress, listenAddress, openPort } from "../base/open-port.ts";
import type { ServerSettings } from "../config/settings.ts";
import type { Edge } from "./edge.ts";

export interface Listening {
  readonly url: string;
  /** Listens no more, lets answers that have begun to leave do so, and closes what is open then. */
  stop(): Promise<void>;
}

/**
 * Bun would answer a larger body with an empty 413 that has no request id and no envelope. The limit is kept
 * where bodies are read (gateway/read-body.ts); a body that nobody reads is never kept in memory.
 */
const maxRequestBodySize = Number.MAX_SAFE_INTEGER;

/** How long the last answers may take to leave. */
const lastAnswersMs = 5000;

/** Seconds; generation requests switch it off for themselves, since a provider may think for long. */
const idleTimeoutSeconds = 30;

export function listen(edge: Edge, { host, port, reusePort }: ServerSettings): Promise<Listening> {
  return listenAt(edge, { host, port, reusePort, hostSetting: "--host", portSetting: "--port" });
}

/** `admin.listen`: an address of its own for the admin side. */
export function listenForAdmin(edge: Edge, address: string): Promise<Listening> {
  return listenAt(edge, listenAddress(address, "admin.listen"));
}

async function listenAt(edge: Edge, address: ListenAddress): Promise<Listening> {
  const { host } = address;
  const server = await openPort(address, (options) =>
    Bun.serve({
      ...options,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize,
      development: false,
      routes: edge.routes,
      error: edge.error,
    }),
  );
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${server.port}`, stop: () => stopServing(server) };
}

async function stopServing(server: Server<undefined>): Promise<void> {
  const tooLate = Promise.withResolvers<void>();
  const timer = setTimeout(tooLate.resolve, lastAnswersMs);
  await Promise.race([server.stop(), tooLate.promise]);
  clearTimeout(timer);
  await server.stop(true);
}
