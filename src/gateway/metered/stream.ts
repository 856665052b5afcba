import { assert } from "../../base/assert.ts";
import { PassthroughRelayer } from "../answer/passthrough-relayer.ts";
import { relayStream } from "../answer/stream-response.ts";
import { answerWhole, chargeFailure } from "./answer.ts";
import { openCall } from "./ask.ts";
import type { MeteredAsking } from "./asking.ts";

/** Asks a provider for a stream, and relays its bytes. Its pump charges for it when it ends. */
export async function streamMetered(asking: MeteredAsking): Promise<Response> {
  const { gateway, exchange, key, bill, route, model, request, estimatedInput } = asking;
  if (exchange.endedBy !== null) throw exchange.endedBy;
  const begun = await openCall(asking, null, null).catch((error) => chargeFailure(asking, error));
  const { call, opened } = begun;
  if (!opened.streaming) return answerWhole(asking, begun);
  const { streams } = route;
  assert(streams !== undefined, "only routes that stream are asked to");
  exchange.answeredBy(opened);
  const relayer = new PassthroughRelayer({
    dialect: "chat",
    hideUsage: call.hidesUsage,
    readsExtras: false,
    requestId: exchange.id,
    model: model.id,
    atSeconds: Math.floor(exchange.atMs / 1000),
    scanner: streams.createScanner(call.hidesUsage, asking.asked),
  });
  const generation = { request, estimatedInput };
  return relayStream({ gateway, exchange, key, bill, opened, generation }, relayer);
}
