import type { Server } from "bun";
import type { WebSocketSettings } from "../../config/settings.ts";
import type { Route } from "../../gateway/exchange/client-call.ts";
import type { Gateway } from "../../gateway/exchange/gateway.ts";
import type { TrustedProxies } from "../../limits/address.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import { HttpCall } from "../respond.ts";
import { ClientSocket, extensionsHeader } from "./client-socket.ts";

/** A peer that does not respond to a ping within this time is gone. Bun sends the pings. */
const idleTimeoutSeconds = 120;

/**
 * Far above the maximum that is ever buffered: the longest event of the largest response, after `pauseBytes`
 * (client-socket.ts).
 */
const backpressureLimit = 80 * 1024 * 1024;

/** For all sockets of a server. The size of a message is counted after decompression. */
export function webSocketOptions({ maxMessageBytes }: WebSocketSettings) {
  return {
    maxPayloadLength: maxMessageBytes,
    idleTimeout: idleTimeoutSeconds,
    backpressureLimit,
    closeOnBackpressureLimit: true,
    // Clients send megabytes of conversation. To compress deltas would take more CPU than it saves.
    perMessageDeflate: { compress: false, decompress: true },
  };
}

/** The handshake of a WebSocket. */
export class UpgradeCall extends HttpCall {
  readonly #gateway: Gateway;

  constructor(
    gateway: Gateway,
    request: Request,
    route: Route,
    server: Server<unknown>,
    trusted: () => TrustedProxies,
  ) {
    super(request, route, server, trusted);
    this.#gateway = gateway;
  }

  /** Elysia hands a connection's events to the handlers in its data. Its own `ws` would parse the frames. */
  upgrade(keyId: string, slot: BodyReservation): boolean {
    const { request, route, address } = this;
    if (!this.#gateway.inflateLimiter.allows(keyId)) request.headers.delete(extensionsHeader);
    const socket = new ClientSocket(this.#gateway, { request, route, address, keyId, slot });
    const isUpgraded = this.server.upgrade(request, { data: socket });
    if (!isUpgraded) socket.close();
    return isUpgraded;
  }
}
