import { asBuffer } from "../../base/bytes.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { type AdmittedCall, maxMemoryWaitMs } from "../exchange/admitted-call.ts";
import type { Piece } from "../exchange/client-call.ts";
import { commonHeaders } from "../response/headers.ts";
import { pacedResponse } from "../response/paced-response.ts";
import { streamHeaders } from "../response/pending-response.ts";
import type { EventReader } from "../turns/event-readers.ts";
import { storedDialect } from "../turns/storage-settings.ts";

/**
 * The stored events of a response from this position on, followed by new ones. Throws if it has too many readers, unless this one has
 * created it.
 */
export function eventsResponse(call: AdmittedCall, id: string, from: number, isFirst = false): Response {
  const { gateway, exchange } = call;
  const reader = gateway.eventReaders.enter(call.keyId, id, isFirst);
  // Of its own: the exchange may run the response, or be over long before the last event.
  const memory = gateway.answers.reserve(call.keyId);
  const body = {
    pieces: (isOver: () => boolean) => storedEvents({ call, reader, memory }, from, isOver),
    release: () => {
      memory.release();
      reader.leave();
    },
  };
  return pacedResponse(exchange, body, { headers: { ...commonHeaders(exchange), ...streamHeaders } });
}

/** Written at once to a connection. A frame of a WebSocket has a whole event. */
const maxPieceBytes = 256 * 1024;

interface Reading {
  readonly call: AdmittedCall;
  readonly reader: EventReader;
  readonly memory: BodyReservation;
}

/** Any number of readers can read the same events, each at its own speed. */
async function* storedEvents(
  { call, reader, memory }: Reading,
  from: number,
  isOver: () => boolean,
): AsyncGenerator<Piece> {
  const { gateway, exchange } = call;
  const { heartbeatMs } = gateway.configured.settings.server;
  const pieceBytes = exchange.call.takeStream === undefined ? maxPieceBytes : Number.POSITIVE_INFINITY;
  let quietSinceMs = performance.now();
  for (let next = from; !isOver(); ) {
    const following = await reader.from(next);
    const { part } = following;
    if (part === null) {
      if (following.isOver) return;
      if (heartbeatMs > 0 && performance.now() - quietSinceMs >= heartbeatMs) {
        yield clientDialect(storedDialect).heartbeat(false, 0, "");
        quietSinceMs = performance.now();
      }
      await following.changed;
      continue;
    }
    const events = withoutFirst(part.events, next - part.first);
    if (events.length >= largeBodyBytes) await memory.growWhenFree(events.length, maxMemoryWaitMs);
    for (let at = 0; at < events.length; at += pieceBytes) yield events.subarray(at, at + pieceBytes);
    memory.shrinkTo(0);
    if (part.isEnd) return;
    next = part.first + part.count;
    quietSinceMs = performance.now();
  }
}

const blankLine = "\n\n";

/** Each event was written here, and has one blank line, at its end. */
function withoutFirst(events: Uint8Array, count: number): Uint8Array {
  const bytes = asBuffer(events);
  let at = 0;
  for (let passed = 0; passed < count; passed += 1) at = bytes.indexOf(blankLine, at) + blankLine.length;
  return bytes.subarray(at);
}
