import { assert } from "../../base/assert.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { noUsage } from "../../base/usage/usage.ts";
import type { WebSocketSettings } from "../../config/settings.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { admitWarmUp, authenticate } from "../admission/admit.ts";
import { readWithConversation } from "../conversations/continue.ts";
import { recordTurn } from "../conversations/record-turn.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { freeOfCharge, readingCodes, type ServedOperation } from "../exchange/served-operation.ts";
import { findModel, permitted, rejectUnpriced } from "../request/model.ts";
import { commonHeaders } from "../response/headers.ts";
import { streamHeaders } from "../response/pending-response.ts";
import { storedDialect } from "../turns/storage-settings.ts";

const { route, errorFormat, operation } = clientDialect(storedDialect);

/** Only the handshake. Each response on the socket is a separate exchange. */
export const webSocketOperation: ServedOperation = {
  method: "GET",
  path: route.path,
  keyHeader: route.keyHeader,
  switchedBy: "websocket",
  isUpgrade: true,
  errors: errorFormat,
  ...freeOfCharge,
  needsKey: true,
  codes: [...readingCodes, "key_expired", "key_disabled", "invalid_request", "upgrade_required"],
  headers: [],
  description: {
    operationId: "openResponsesSocket",
    summary: "Responses over WebSocket",
    description:
      'With `Upgrade: websocket`. A text frame `{type: "response.create", stream_id?, generate?, …}` has the fields of `createResponse`; its events come as one text frame each, with its `stream_id`. Errors are frames `{type: "error", status, error, headers, stream_id?}`.',
    response: operation.response,
    schemas: operation.schemas,
  },
  run: openSocket,
};

async function openSocket(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { call, configured } = exchange;
  const { server, websocket } = configured.settings;
  const { headers } = call.request;
  const key = await authenticate(gateway, exchange);
  assert(key !== null, "a socket needs a key");
  rejectForeignOrigin(headers.get("origin"), server.corsOrigins);
  if (headers.has("idempotency-key")) {
    throw invalidRequest(
      "`Idempotency-Key` is not supported on WebSockets. Remove the header.",
      "Idempotency-Key",
    );
  }
  if (gateway.ongoing.isDraining) {
    throw new GatewayError("service_unavailable", "The gateway is shutting down. Retry in a few seconds.");
  }
  if (gateway.sockets.countOf(key.id) >= websocket.maxConnectionsPerKey) {
    throw new GatewayError(
      "rate_limit_exceeded",
      `This key has ${websocket.maxConnectionsPerKey} WebSockets open, which is its limit. Close one, or use streams (\`stream_id\`).`,
    );
  }
  const slot = gateway.socketSlots.reserve(key.id);
  if (!slot.grow(1)) throw tooManySockets(websocket);
  if (call.upgrade?.(key.id, slot) === true) return new Response(null, { status: 101 });
  slot.release();
  throw invalidRequest("This is not a valid WebSocket handshake.");
}

function tooManySockets({ maxConnections }: WebSocketSettings): GatewayError {
  const message = `The gateway has reached its limit of ${maxConnections} WebSockets. Use HTTP, or retry later.`;
  return new GatewayError("service_unavailable", message);
}

/** Browsers let any page open a WebSocket, and send the page's origin. */
function rejectForeignOrigin(origin: string | null, allowed: readonly string[]): void {
  if (origin === null || allowed.includes(origin) || allowed.includes("*")) return;
  throw new GatewayError(
    "key_disabled",
    "This web page's origin is not allowed. Ask the operator to add it to `server.cors_origins`.",
    {
      vendor: { code: "origin_not_allowed" },
    },
  );
}

/**
 * `generate: false`: the request is checked and remembered for the one that continues it. No provider is called, so
 * there is nothing to charge, and nothing is stored.
 */
export async function warmUp(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admitWarmUp(gateway, exchange);
  const { configured, key, keyId } = call;
  const { request, turn } = await readWithConversation(call, storedDialect);
  const model = permitted(call, findModel(configured, key, request.modelId));
  rejectUnpriced(key, model);
  const { keeping } = turn;
  const writer = clientDialect(storedDialect).createStreamWriter({
    source: {
      dialect: clientDialect(storedDialect),
      body: request.quickBody,
      model: model.id,
      nowSeconds: Math.floor(exchange.atMs / 1000),
      estimatedInputTokens: 0,
      kept: { parentId: keeping?.parentId ?? null, isStored: false },
    },
    mint: newId,
    clock: gateway.clock,
  });
  const begun = writer.write({ type: "start", usage: noUsage });
  const ended = writer.terminal();
  if (keeping !== null) {
    const unstored = { ...keeping, isStored: false, isProviders: false };
    await recordTurn({ gateway, exchange, keyId, model }, unstored, ended);
  }
  return new Response(begun + ended, { headers: { ...commonHeaders(exchange), ...streamHeaders } });
}
