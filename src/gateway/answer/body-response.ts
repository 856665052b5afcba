import { assert } from "../../base/assert.ts";
import { releaseBytes } from "../../base/release.ts";
import { largeEventBytes } from "../../dialects/sse/parse-event.ts";
import { eventEnd } from "../../dialects/sse/raw-events.ts";
import type { ClientCall } from "../client-call.ts";
import type { Exchange } from "../exchange.ts";
import { inParts } from "../large/in-parts.ts";
import { largeBodyBytes } from "../large/is-large.ts";
import { lengthOf } from "../large/join-shared.ts";
import { largeTurns } from "../large/large-turns.ts";
import type { DirectController, StreamSource } from "./client-stream.ts";
import { bytesOf } from "./stream-relayer.ts";

/** How much is written in one turn of the event loop. */
const mostWrittenBytes = 1024 * 1024;

/** The response with this body, which nobody else needs. */
export function bodyResponse(exchange: Exchange, body: Uint8Array | string, init: ResponseInit): Response {
  if (body.length >= largeBodyBytes) return piecesResponse(exchange, [bytesOf(body)], init);
  if (typeof body === "string") return new Response(body, init);
  const response = new Response(body, init);
  // The response has a copy.
  releaseBytes(body);
  return response;
}

/**
 * The same of a body in pieces. A large one leaves as its client reads it: the runtime would copy it as a whole, and keep it for as
 * long as a slow client takes. The exchange's memory is given back after that.
 */
export function piecesResponse(
  exchange: Exchange,
  pieces: readonly Uint8Array[],
  init: ResponseInit,
): Response {
  const bytes = lengthOf(pieces);
  if (bytes < largeBodyBytes) return new Response(Buffer.concat(pieces), init);
  const { call, memory, configured } = exchange;
  exchange.memory = null;
  memory?.shrinkTo(bytes);
  call.disconnect(configured.settings.server.stalledReaderMs);
  let isOver = false;
  const end = () => {
    isOver = true;
    memory?.release();
  };
  // The stream of a client that has left already is neither pulled nor cancelled.
  if (call.request.signal.aborted) end();
  else call.request.signal.addEventListener("abort", end);
  const pull = async (controller: DirectController) => {
    const parts = call.takeStream ? eventParts(onlyOf(pieces)) : inParts(pieces, mostWrittenBytes);
    for (let next = parts.next(); !isOver; next = parts.next()) {
      await controller.write(next.value);
      if (next.done === true) break;
      await largeTurns.turn();
    }
    controller.end();
    end();
  };
  return sourceResponse({ pull, cancel: end }, call, () => init);
}

function onlyOf([body, ...others]: readonly Uint8Array[]): Uint8Array {
  assert(body !== undefined && others.length === 0, "what becomes frames is in one piece");
  return body;
}

/** Cut behind events, which become frames. One alone may be longer. */
function* eventParts(body: Uint8Array): Generator<Uint8Array, Uint8Array> {
  let at = 0;
  for (let end = 0; ; at = end) {
    end = eventEnd(body, at + largeEventBytes);
    if (end >= body.length) return body.subarray(at);
    yield body.subarray(at, end);
  }
}

/** The response that this writes. A connection that takes it in another way has no use for its headers. */
export function sourceResponse(
  source: StreamSource,
  { takeStream }: ClientCall,
  init: () => ResponseInit,
): Response {
  if (takeStream !== undefined) {
    takeStream(source);
    return new Response(null);
  }
  const body = new ReadableStream({
    type: "direct",
    pull: (controller) => source.pull(controller),
    cancel: () => source.cancel(),
  });
  return new Response(body, init());
}
