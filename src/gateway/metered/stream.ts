import { assert } from "../../base/assert.ts";
import { meteredDialect } from "../../dialects/metered/route.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import { BytesRelayer } from "../response/bytes-relayer.ts";
import { addCostHeaders } from "../response/headers.ts";
import { PassthroughRelayer } from "../response/passthrough-relayer.ts";
import { relayStream } from "../response/stream-response.ts";
import { type BegunCall, openCall } from "./call-provider.ts";
import type { HeldMeteredCall } from "./metered-call.ts";
import { chargeFailure, respondWhole } from "./respond.ts";

function isEventStream({ head }: OpenedCall): boolean {
  return head?.get("content-type")?.includes("text/event-stream") === true;
}

/** Relays audio as it arrives, with its cost in the headers. If the client has already disconnected, reads it to its end. */
async function relayBytes(asking: HeldMeteredCall, begun: BegunCall): Promise<Response> {
  const { call, meter, request, estimatedInput } = asking;
  const { exchange } = call;
  const { opened } = begun;
  if (exchange.hasClientDisconnected) return respondWhole(asking, begun);
  exchange.answeredBy(opened);
  meter.noteExtras(null);
  const headers: Record<string, string> = {};
  addCostHeaders(headers, meter, meter.announced());
  const type = opened.head?.get("content-type") ?? null;
  if (type !== null) headers["content-type"] = type;
  const generation = { request, estimatedInput };
  return relayStream({ call, meter, opened, generation }, new BytesRelayer(), headers);
}

/** Calls a provider for a stream, and relays its bytes. Its pump charges for it when it ends. */
export async function streamMetered(asking: HeldMeteredCall): Promise<Response> {
  const { call: routed, meter, route, request, estimatedInput } = asking;
  const { exchange, model } = routed;
  const begun = await openCall(asking, null, null).catch((error) => chargeFailure(asking, error));
  const { call, opened } = begun;
  if (!opened.streaming) return respondWhole(asking, begun);
  if (call.streamsAnyType && !isEventStream(opened)) return relayBytes(asking, begun);
  const { streams } = route;
  assert(streams !== undefined, "only routes that stream are asked to");
  exchange.answeredBy(opened);
  const relayer = new PassthroughRelayer({
    dialect: meteredDialect,
    hideUsage: call.hidesUsage,
    requestId: exchange.id,
    model: model.id,
    atSeconds: Math.floor(exchange.atMs / 1000),
    reader: streams.createReader(asking.askedAt(opened.deployment)),
  });
  const generation = { request, estimatedInput };
  return relayStream({ call: routed, meter, opened, generation }, relayer);
}
