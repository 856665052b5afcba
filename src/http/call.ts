import type { Server } from "bun";
import type { ClientCall, Route } from "../gateway/client-call.ts";
import { clientAddress, type TrustedProxies } from "../limits/address.ts";

/** A short idle time, which is how Bun lets go of a connection whose reader has stalled. */
const disconnectAfterSeconds = 1;

/** One request on its connection. What only few requests need is looked up when it is asked for. */
export class HttpCall implements ClientCall {
  readonly request: Request;
  readonly route: Route;
  readonly #server: Server<unknown>;
  readonly #trusted: TrustedProxies;

  constructor(request: Request, route: Route, server: Server<unknown>, trusted: TrustedProxies) {
    this.request = request;
    this.route = route;
    this.#server = server;
    this.#trusted = trusted;
  }

  get address(): string {
    return addressOn(this.#server, this.request, this.#trusted);
  }

  keepWaiting(): void {
    this.#server.timeout(this.request, 0);
  }

  disconnect(): void {
    this.#server.timeout(this.request, disconnectAfterSeconds);
  }
}

/** Where a request comes from; proxies are believed only if they are configured as trusted. */
export function addressOn(server: Server<unknown> | null, request: Request, trusted: TrustedProxies): string {
  const peer = server?.requestIP(request)?.address ?? "unknown";
  return clientAddress(peer, request.headers.get("x-forwarded-for"), trusted);
}
