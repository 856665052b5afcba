import type { GatewayError } from "../../base/errors.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import type { EndedIds } from "../../dialects/provider-response/read-event.ts";
import type { StreamMeter } from "../../dialects/provider-response/stream-meter.ts";
import type { ParsedEvent } from "../../dialects/sse/sse.ts";
import type { Piece } from "../exchange/client-call.ts";
import type { ResponseFacts } from "./pending-response.ts";

/**
 * Turns a provider's stream into the client's, passed through or translated; the pump (stream-pump.ts) does not depend
 * on which. `push` and `end` never return the pieces that end the client's stream: those come from `terminal`, after
 * the charge is committed.
 */
export interface StreamRelayer {
  /** The pieces are not events: nothing can be inserted between them, and only closing the connection reports a failure. */
  readonly isRaw?: true;
  /**
   * The state of the provider's stream. A failure is stored there and not thrown, because everything before it, even in
   * the same chunk, is delivered and charged.
   */
  readonly meter: StreamMeter;
  /** Takes a chunk of the provider, returns what may leave now. Check `largeEvent` and the meter's failure afterwards. */
  push(chunk: Uint8Array): Piece;
  /** The provider's body has ended. Check `largeEvent`, and if there is one, call it again; then the failure. */
  end(): Piece;
  /**
   * A part of a large event has arrived, or a long response that the end may repeat. Completing it takes milliseconds, so the next
   * chunk is pushed in a separate event-loop iteration.
   */
  readonly isCollecting: boolean;
  /**
   * The data of an event that would take long to parse. Nothing after it has been read, and nothing may be pushed
   * before `resume` was called with its parsed form, which returns the pieces that can be sent now. Another large event
   * may follow.
   */
  readonly largeEvent: string | null;
  resume(parsed: ParsedEvent): Piece;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  /** The answer is complete, although the provider has not ended its stream. Only for dialects whose providers forget that. */
  readonly isComplete: boolean;
  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void;
  terminal(): Piece;
  /** Ids of the provider's resources that the client has seen; absent if it sees none. */
  readonly issued?: readonly string[];
  /** The streamed items of a response that is stored, in case `terminal` lacks them. */
  readonly streamed?: StreamedItems | undefined;
  /** The ids in the response that `terminal` contains whole. */
  readonly endedIds?: EndedIds | null;
  /** The dialect's in-band failure, which never looks like a proper end; shows what was charged, null for nothing. */
  failure(error: GatewayError, charged: Usage | null): string;
  /** Sent while the provider is silent. */
  heartbeat(): string;
}

export function factsOf({ meter, issued = [], streamed, endedIds }: StreamRelayer): ResponseFacts {
  return { issued, usage: meter.usage, extras: meter.extras, streamed, endedIds };
}
