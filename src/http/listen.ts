import type { Server } from "bun";
import type { Elysia } from "elysia";
import { assert } from "../base/assert.ts";
import { startDeadline } from "../base/loop/deadline.ts";
import { type ListenAddress, listenAddress, openPort } from "../base/system/open-port.ts";
import type { ServerSettings } from "../config/settings.ts";
import { limitSendBuffers, unlisten } from "./listening-sockets.ts";

export interface ListeningServer {
  readonly url: string;
  /** Accepts no more connections, if the system allows that without closing idle ones. */
  rejectConnections(): void;
  /** Accepts no more connections, and closes idle ones. */
  closeIdle(): void;
  /** Rejects new connections, lets responses in progress finish for this long, and then closes all connections. */
  stop(withinMs: number): Promise<void>;
}

export function listen(edge: Elysia, { host, port, reusePort }: ServerSettings): Promise<ListeningServer> {
  return listenAt(edge, { host, port, reusePort, hostSetting: "--host", portSetting: "--port" });
}

/** `admin.listen`: a separate address for the admin side. Gateways that share a port share this one too. */
export function listenForAdmin(
  edge: Elysia,
  address: string,
  { reusePort }: ServerSettings,
): Promise<ListeningServer> {
  return listenAt(edge, { ...listenAddress(address, "admin.listen"), reusePort });
}

async function listenAt(edge: Elysia, address: ListenAddress): Promise<ListeningServer> {
  const { server } = await openPort(address, (options) => edge.listen(options));
  assert(server, "Elysia has no server after listen");
  const { host } = address;
  const { port } = server;
  assert(port !== undefined, "a server that listens on an address has a port");
  limitSendBuffers(port);
  const shown = host.includes(":") ? `[${host}]` : host;
  let stopping: Promise<void> | null = null;
  const closeIdle = () => {
    stopping ??= server.stop();
    return stopping;
  };
  return {
    url: `http://${shown}:${port}`,
    rejectConnections: () => void unlisten(port),
    closeIdle: () => void closeIdle(),
    stop: (withinMs) => stopServing(server, closeIdle(), withinMs),
  };
}

async function stopServing(
  server: Server<unknown>,
  stopping: Promise<void>,
  withinMs: number,
): Promise<void> {
  const tooLate = Promise.withResolvers<void>();
  const cancelDeadline = startDeadline(withinMs, tooLate.resolve);
  await Promise.race([stopping, tooLate.promise]);
  cancelDeadline();
  await server.stop(true);
}
