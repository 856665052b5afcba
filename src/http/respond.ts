import { GatewayError } from "../base/errors.ts";
import { renderError } from "../dialects/errors/envelope.ts";
import type { ClientCall } from "../gateway/client-call.ts";
import { countTokens } from "../gateway/count-tokens.ts";
import { withoutStore } from "../gateway/describe-error.ts";
import { endExchange } from "../gateway/end-exchange.ts";
import { Exchange } from "../gateway/exchange.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { generate } from "../gateway/generate.ts";
import { commonHeaders } from "../gateway/headers.ts";
import { listModels, showModel } from "../gateway/models.ts";
import { summarizeUsage } from "../gateway/usage-summary.ts";

/** nginx's status for a client that was gone before it could be answered. It is in logs and metrics only. */
const clientLeft = 499;

/** Answers one call on one of the interface's routes, whatever happens. Only a stream outlasts its response. */
export async function respond(gateway: Gateway, call: ClientCall): Promise<Response> {
  const exchange = new Exchange(call, gateway);
  try {
    const response = await dispatch(gateway, exchange);
    if (exchange.pump === null) {
      const outcome = exchange.isReplayed ? "replayed" : "completed";
      endExchange(gateway, exchange, { status: response.status, outcome, error: null });
    }
    return lastIfDraining(gateway, response);
  } catch (thrown) {
    const error = withoutStore(thrown);
    const response = errorResponse(exchange, error);
    const hasLeft = call.request.signal.aborted;
    const status = hasLeft ? clientLeft : response.status;
    // A 4xx is the request's fault, whoever detected it; anything else is the provider's or our own.
    const outcome = hasLeft ? "cancelled" : status < 500 ? "refused" : "failed";
    endExchange(gateway, exchange, { status, outcome, error });
    return lastIfDraining(gateway, response);
  }
}

/** While the gateway drains, each connection is closed behind its answer: the next request belongs to another gateway. */
export function lastIfDraining({ ongoing }: Gateway, response: Response): Response {
  if (ongoing.isDraining) response.headers.set("connection", "close");
  return response;
}

function dispatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { route } = exchange.call;
  switch (route.operation) {
    case "models":
      return listModels(gateway, exchange);
    case "model":
      return showModel(gateway, exchange);
    case "usage":
      return summarizeUsage(gateway, exchange);
    case "count_tokens":
      return countTokens(gateway, exchange);
    case "generate":
      return generate(gateway, exchange, route.dialect);
  }
}

/** An unexpected error reveals nothing to the client. Its cause is in the log, under the request id. */
function errorResponse(exchange: Exchange, thrown: unknown): Response {
  const error =
    thrown instanceof GatewayError
      ? thrown
      : new GatewayError("internal_error", "The gateway failed unexpectedly; its log has the cause.");
  const { status, headers, body } = renderError(exchange.call.route.errors, error, exchange.id);
  return new Response(body, { status, headers: { ...commonHeaders(exchange), ...headers } });
}
