import { GatewayError } from "../base/errors.ts";
import { internalError } from "../base/requests/gateway-endings.ts";
import { renderError } from "../dialects/errors/envelope.ts";
import type { ClientCall } from "../gateway/client-call.ts";
import { recordContentError } from "../gateway/content.ts";
import { unlockConversation } from "../gateway/conversations/conversation-lock.ts";
import { namedAsSent } from "../gateway/conversations/sent-paths.ts";
import { withoutStore } from "../gateway/describe-error.ts";
import { endExchange } from "../gateway/end-exchange.ts";
import { Exchange } from "../gateway/exchange.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { commonHeaders } from "../gateway/headers.ts";
import { giveBackClaims } from "../gateway/request/idempotent.ts";
import type { ServedOperation } from "../gateway/served-operation.ts";

/** nginx's status for a client that disconnected before the response. Appears in logs and metrics only. */
const clientClosedRequest = 499;

/** Answers one call by its operation, whatever happens. Only a stream outlasts its response. */
export async function respond(
  gateway: Gateway,
  call: ClientCall,
  { run }: Pick<ServedOperation, "run">,
): Promise<Response> {
  const exchange = new Exchange(call, gateway);
  try {
    const response = await run(gateway, exchange);
    if (exchange.pump === null) {
      if (exchange.conversationClaim !== null) await unlockConversation(gateway, exchange);
      const outcome = exchange.isReplay ? "replayed" : "completed";
      endExchange(gateway, exchange, { status: response.status, outcome, error: null });
    }
    return lastIfDraining(gateway, response);
  } catch (thrown) {
    const error = withoutStore(thrown);
    const hasDisconnected = call.request.signal.aborted;
    const response = errorResponse(exchange, error, hasDisconnected);
    await giveBackClaims(gateway, exchange);
    const status = hasDisconnected ? clientClosedRequest : response.status;
    // A 4xx is the request's fault, whether we or the provider detected it. Anything else is the provider's or our own.
    const outcome = hasDisconnected ? "cancelled" : status < 500 ? "rejected" : "failed";
    endExchange(gateway, exchange, { status, outcome, error });
    return lastIfDraining(gateway, response);
  }
}

/** While draining, each connection is closed after its answer, so that the next request goes to another gateway. */
export function lastIfDraining({ ongoing }: Gateway, response: Response): Response {
  if (ongoing.isDraining) response.headers.set("connection", "close");
  return response;
}

/** An unexpected error reveals nothing to the client. Its cause is in the log, under the request id. */
function errorResponse(exchange: Exchange, thrown: unknown, hasDisconnected: boolean): Response {
  const error = thrown instanceof GatewayError ? thrown : new GatewayError("internal_error", internalError);
  const named = namedAsSent(error, exchange.sentPaths);
  const { status, headers, body } = renderError(exchange.call.route.errors, named, exchange.id);
  if (exchange.content !== null && !hasDisconnected) recordContentError(exchange, body);
  return new Response(body, { status, headers: { ...commonHeaders(exchange), ...headers } });
}
