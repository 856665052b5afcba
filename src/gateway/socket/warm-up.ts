import { newId } from "../../base/id.ts";
import { noUsage } from "../../base/usage/usage.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { admitWarmUp } from "../admission/admit.ts";
import { readWithConversation } from "../conversations/continue.ts";
import { recordTurn } from "../conversations/record-turn.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { findModel, rejectUnpriced } from "../request/request.ts";
import { permitted } from "../request/route.ts";
import { commonHeaders } from "../response/headers.ts";
import { streamHeaders } from "../response/pending-response.ts";
import { storedDialect } from "../turns/storage-settings.ts";

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
