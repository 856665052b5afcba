import type { Server } from "bun";
import { GatewayError } from "../base/errors.ts";
import { LoopBatch } from "../base/loop/pacer.ts";
import { internalError } from "../base/requests/gateway-endings.ts";
import { renderError } from "../dialects/errors/envelope.ts";
import { clientDialect } from "../dialects/registry.ts";
import { namedAsSent } from "../gateway/conversations/sent-paths.ts";
import { giveBackClaims, unlockConversation } from "../gateway/exchange/claims.ts";
import type { ClientCall, Route } from "../gateway/exchange/client-call.ts";
import { recordContentError } from "../gateway/exchange/content.ts";
import { withoutStore } from "../gateway/exchange/describe-error.ts";
import { endExchange } from "../gateway/exchange/end-exchange.ts";
import { clientClosedRequest, Exchange } from "../gateway/exchange/exchange.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { clientOrigin } from "../gateway/exchange/origin.ts";
import type { ServedOperation } from "../gateway/exchange/served-operation.ts";
import { commonHeaders } from "../gateway/response/headers.ts";
import { clientAddress, type TrustedProxies } from "../limits/address.ts";

/** Bun takes no longer timeout. */
const maxIdleSeconds = 255;

/** Bun ends what has a shorter one when it looks next, which it does every four seconds, although the client reads. */
const minIdleSeconds = 5;

/** One request on its connection. The address is looked up on demand, since few requests need it. */
export class HttpCall implements ClientCall {
  readonly origin = clientOrigin;
  readonly request: Request;
  readonly route: Route;
  protected readonly server: Server<unknown>;
  readonly #trusted: () => TrustedProxies;

  constructor(request: Request, route: Route, server: Server<unknown>, trusted: () => TrustedProxies) {
    this.request = request;
    this.route = route;
    this.server = server;
    this.#trusted = trusted;
  }

  get address(): string {
    return addressOn(this.server, this.request, this.#trusted());
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

/** The peer of the connection: the client, or the last proxy. */
export function peerOf(server: Server<unknown> | null, request: Request): string {
  return server?.requestIP(request)?.address ?? "unknown";
}

/** The client's address. `X-Forwarded-For` counts only if it comes from a trusted proxy. */
export function addressOn(server: Server<unknown> | null, request: Request, trusted: TrustedProxies): string {
  return clientAddress(peerOf(server, request), request.headers.get("x-forwarded-for"), trusted);
}

/** Requests that arrive in one event-loop iteration start together. */
const arrivals = new LoopBatch<() => void>((resume) => resume());

/** Serves one call by its operation, and never throws. Only a stream outlasts its response. */
export function respond(
  gateway: Gateway,
  call: ClientCall,
  { run }: Pick<ServedOperation, "run">,
): Promise<Response> {
  const exchange = new Exchange(call, gateway);
  const running = answer(gateway, exchange, run);
  return exchange.mayBeginEarly ? exchange.firstOf(running) : running;
}

export async function answer(
  gateway: Gateway,
  exchange: Exchange,
  run: ServedOperation["run"],
): Promise<Response> {
  try {
    if (arrivals.shouldAdd()) await new Promise<void>((resume) => arrivals.add(resume));
    const response = await run(gateway, exchange);
    if (exchange.pump === null) {
      if (exchange.taken.conversationClaim !== null) await unlockConversation(gateway, exchange);
      const outcome = exchange.isReplay ? "replayed" : "completed";
      endExchange(gateway, exchange, { status: response.status, outcome, error: null });
    }
    return lastIfDraining(gateway, response);
  } catch (thrown) {
    const error = inClientsWords(withoutStore(thrown), exchange.call.route.dialect);
    const hasDisconnected = exchange.hasClientDisconnected;
    const response = errorResponse(exchange, error, hasDisconnected);
    await giveBackClaims(gateway, exchange);
    const status = exchange.answeredWith(hasDisconnected ? clientClosedRequest : response.status);
    // A 4xx is the request's fault, whether we or the provider detected it. Anything else is the provider's or our own.
    const isRejected = exchange.early === null && status < 500;
    const outcome = hasDisconnected ? "cancelled" : isRejected ? "rejected" : "failed";
    endExchange(gateway, exchange, { status, outcome, error });
    return lastIfDraining(gateway, response);
  }
}

/** While draining, each connection is closed after its response, so that the next request goes to another gateway. */
export function lastIfDraining({ ongoing }: Gateway, response: Response): Response {
  if (ongoing.isDraining) response.headers.set("connection", "close");
  return response;
}

/** Advice of the ledger, which knows no dialects, names the client's own field. */
const limitAdvice = "Lower `max_tokens`";

function inClientsWords(thrown: unknown, dialect: Route["dialect"]): unknown {
  if (dialect === null || !(thrown instanceof GatewayError)) return thrown;
  const { message } = thrown;
  const { outputLimit } = clientDialect(dialect).fieldNames;
  if (!message.includes(limitAdvice) || outputLimit === "max_tokens") return thrown;
  return thrown.reworded(message.replace(limitAdvice, `Lower \`${outputLimit}\``));
}

/** An unexpected error reveals nothing to the client. Its cause is in the log, under the request id. */
function errorResponse(exchange: Exchange, thrown: unknown, hasDisconnected: boolean): Response {
  if (exchange.early !== null) return exchange.early.failure(thrown);
  const error = thrown instanceof GatewayError ? thrown : new GatewayError("internal_error", internalError);
  const { errors: format } = exchange.call.route;
  const named = namedAsSent(error, exchange.sentPaths);
  const rendered = renderError(format, named, exchange.id);
  const { isSignIn, call } = exchange;
  const caller = { isSignIn, originator: call.request.headers.get("originator") };
  const { status, headers, body } = format.forAgent?.(rendered, error, caller) ?? rendered;
  if (exchange.taken.content !== null && !hasDisconnected) recordContentError(exchange, body);
  return new Response(body, { status, headers: { ...commonHeaders(exchange), ...headers } });
}
