import { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import { isSpoken } from "../../dialects/registry.ts";
import { eventsOf } from "../exchange/content.ts";
import { sourceResponse } from "./client-stream.ts";
import { CompactionRelayer } from "./compacted-response.ts";
import { commonHeaders } from "./headers.ts";
import { PassthroughRelayer } from "./passthrough-relayer.ts";
import {
  type Delivery,
  type PendingResponse,
  type StreamRelayer,
  streamHeaders,
} from "./pending-response.ts";
import { StreamPump } from "./stream-pump.ts";
import { TranslatedRelayer } from "./translated-relayer.ts";

/** Begins a stream. From here on its pump settles the meter and ends the exchange. */
export function streamResponse(pending: PendingResponse): Response {
  const relayer = relayerOf(pending);
  const { exchange, turn } = pending.asking.call;
  const { compaction } = turn;
  return relayStream(
    pending,
    compaction === null ? relayer : new CompactionRelayer(compaction, relayer, exchange.id),
  );
}

export function relayStream(
  delivery: Delivery,
  relayer: StreamRelayer,
  ownHeaders: Readonly<Record<string, string>> = streamHeaders,
): Response {
  const { asking, opened } = delivery;
  const { gateway, exchange } = asking.call;
  // The gateway is shutting down, and can still say so with a status.
  if (exchange.endedBy !== null) throw exchange.endedBy;
  if (exchange.taken.claim !== null)
    exchange.taken.recorder = gateway.claims.record(
      exchange.taken.claim,
      exchange.configured.settings.retention.responseBytesPerKey,
    );
  const { content } = exchange.taken;
  if (content !== null) {
    const type = ownHeaders["content-type"] ?? "";
    content.upstreamBegins(opened.streaming);
    content.open(relayer.isRaw === true ? { kind: "bytes", type } : eventsOf(exchange), true);
  }
  const pump = new StreamPump(delivery, relayer);
  const response = sourceResponse(pump, exchange.call, () => ({
    headers: { ...opened.headers, ...commonHeaders(exchange), ...ownHeaders },
  }));
  exchange.pump = pump;
  gateway.watchdog.watch(pump);
  return response;
}

function relayerOf({ asking, attempt }: PendingResponse): StreamRelayer {
  const { call, generation } = asking;
  const { exchange, turn } = call;
  const { clientDialect: dialect } = generation;
  const isKept = turn.keeping !== null || turn.compaction !== null;
  if (attempt.translation !== null || !isSpoken(dialect, [attempt.dialect]))
    return new TranslatedRelayer(attempt.reread().stream(), exchange.id);
  return new PassthroughRelayer({
    dialect,
    hideUsage: attempt.hideUsage,
    isStored: generation.isStoredUpstream,
    streamed: isKept ? new StreamedItems() : undefined,
    requestId: exchange.id,
    model: generation.model.id,
    atSeconds: generation.atSeconds,
  });
}
