import { releaseBytes } from "../../base/release.ts";
import type { Exchange } from "../exchange.ts";
import { largeBodyBytes } from "../large/is-large.ts";
import { largeTurns } from "../large/large-turns.ts";
import type { DirectController } from "./client-stream.ts";

/** How much is written in one turn of the event loop. */
const mostWrittenBytes = 1024 * 1024;

/**
 * The response with this body, which nobody else needs. A large one leaves as its client reads it: the runtime would copy it as a
 * whole, and keep it for as long as a slow client takes. The exchange's memory is given back after that.
 */
export function bodyResponse(exchange: Exchange, body: Uint8Array | string, init: ResponseInit): Response {
  if (typeof body === "string") return new Response(body, init);
  if (body.length < largeBodyBytes || exchange.call.takeStream !== undefined) {
    const response = new Response(body, init);
    // The response has a copy.
    releaseBytes(body);
    return response;
  }
  const { call, memory, configured } = exchange;
  exchange.memory = null;
  memory?.shrinkTo(body.length);
  call.disconnect(configured.settings.server.stalledReaderMs);
  let isOver = false;
  const end = () => {
    isOver = true;
    memory?.release();
  };
  const pull = async (controller: DirectController) => {
    for (let at = 0; at < body.length && !isOver; at += mostWrittenBytes) {
      await largeTurns.turn();
      await controller.write(body.subarray(at, at + mostWrittenBytes));
    }
    controller.end();
    end();
  };
  return new Response(new ReadableStream({ type: "direct", pull, cancel: end }), init);
}
