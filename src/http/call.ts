import type { Server } from "bun";
import type { ClientCall, Route } from "../gateway/client-call.ts";
import { clientAddress, type TrustedProxies } from "../limits/address.ts";

/** Bun takes no longer timeout. */
export const maxIdleSeconds = 255;

/** Bun ends what has a shorter one when it looks next, which it does every four seconds, although the client reads. */
const minIdleSeconds = 5;

/** One request on its connection. The address is looked up on demand, since few requests need it. */
export class HttpCall implements ClientCall {
  readonly request: Request;
  readonly route: Route;
  protected readonly server: Server<unknown>;
  readonly #trusted: TrustedProxies;

  constructor(request: Request, route: Route, server: Server<unknown>, trusted: TrustedProxies) {
    this.request = request;
    this.route = route;
    this.server = server;
    this.#trusted = trusted;
  }

  get address(): string {
    return addressOn(this.server, this.request, this.#trusted);
  }

  get isForwarded(): boolean {
    return this.request.headers.has("x-forwarded-for");
  }

  keepWaiting(): void {
    this.server.timeout(this.request, 0);
  }

  /** Bun closes a connection with a stalled reader only by its idle timeout. */
  disconnect(stalledMs?: number): void {
    const seconds = stalledMs === undefined ? 1 : Math.max(Math.ceil(stalledMs / 1000), minIdleSeconds);
    this.server.timeout(this.request, Math.min(seconds, maxIdleSeconds));
  }
}

/** Who opened the connection: the client, or the last proxy. */
export function peerOf(server: Server<unknown> | null, request: Request): string {
  return server?.requestIP(request)?.address ?? "unknown";
}

/** The client's address. `X-Forwarded-For` counts only if it comes from a trusted proxy. */
export function addressOn(server: Server<unknown> | null, request: Request, trusted: TrustedProxies): string {
  return clientAddress(peerOf(server, request), request.headers.get("x-forwarded-for"), trusted);
}
