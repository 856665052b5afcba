import { assert } from "../../base/assert.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { ClientDialect } from "../../dialects/client-dialect.ts";
import { cutShort, FailedAnswer, failedAfter, isBilled } from "../../dialects/errors/failure.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import type { EndedIds } from "../../dialects/openai-responses/client/turn-items.ts";
import { clientDialect, providerDialect, type SharedDialectName } from "../../dialects/registry.ts";
import { isDoneMark } from "../../dialects/sse/data-field.ts";
import { FrameJoiner } from "../../dialects/sse/frame-joiner.ts";
import { largeEventBytes } from "../../dialects/sse/parse-event.ts";
import { eventEnd, meaningOf, rawEvent, withoutContent } from "../../dialects/sse/raw-events.ts";
import type { ParsedEvent } from "../../dialects/sse/sse.ts";
import type { StreamScanner } from "../../dialects/sse/stream-scanner.ts";
import type { Piece } from "../exchange/client-call.ts";
import { MeteredRelayer, type StreamRelayer } from "./stream-relayer.ts";

export interface PassthroughCall {
  readonly dialect: SharedDialectName;
  /** The client did not ask for the usage chunk that the gateway asked the provider for. */
  readonly hideUsage: boolean;
  readonly requestId: string;
  readonly model: string;
  readonly atSeconds: number;
  readonly isStored?: boolean;
  /** Given if the response is kept, or read for its summary. */
  readonly streamed?: StreamedItems | undefined;
  /** Reads events that are not the dialect's own. */
  readonly scanner?: StreamScanner;
}

const nothing = new Uint8Array(0);
const blankLine = Buffer.from("\n\n");

/** An event that is parsed elsewhere. */
interface LargeEvent {
  readonly event: Uint8Array;
  /** Complete events that came after it. */
  readonly behind: Uint8Array;
  /** The body ended with it, and it lacks its blank line. */
  readonly isRest: boolean;
}

/**
 * Whether the rest of a body is an event that was cut off. Half of one is useless to clients, and what follows would become part of
 * it. One that lacks its blank line alone is whole.
 */
function isHalfEvent(rest: Uint8Array): boolean {
  const { data } = rawEvent(rest, 0);
  return meaningOf(data) === null && !isDoneMark(data);
}

/** Forwards the provider's bytes unchanged and at once; only the terminal event waits for the charge. */
export class PassthroughRelayer extends MeteredRelayer<StreamScanner> implements StreamRelayer {
  readonly #call: PassthroughCall;
  readonly #dialect: ClientDialect;
  readonly #joiner = new FrameJoiner();
  brokenBy: GatewayError | null = null;
  #begun = false;
  #terminal: Piece | null = null;
  #large: LargeEvent | null = null;

  constructor(call: PassthroughCall) {
    const { passthrough } = providerDialect(call.dialect);
    assert(passthrough !== null, `what is spoken in ${call.dialect} can pass through`);
    super(call.scanner ?? passthrough.createScanner(call));
    this.#call = call;
    this.#dialect = clientDialect(call.dialect);
  }

  push(chunk: Uint8Array): Piece {
    const events = this.#joiner.push(chunk);
    if (events === null) return nothing;
    return this.ended ? withoutContent(events) : this.#advance(events);
  }

  /** The last event may lack its blank line, so the rest is scanned as if it had one. */
  end(): Piece {
    if (this.ended || this.brokenBy !== null) return nothing;
    const rest = this.#joiner.rest();
    if (rest !== null && rest.length >= largeEventBytes) {
      this.#large = { event: rest, behind: nothing, isRest: true };
      return nothing;
    }
    const leaving = rest === null || isHalfEvent(rest) ? nothing : this.#pass(rest, nothing);
    if (this.ended || this.brokenBy !== null) return leaving;
    const missing = this.meter.missingTerminal();
    if (missing === null) {
      this.brokenBy = cutShort();
      return nothing;
    }
    this.#terminal = leaving.length === 0 ? missing : `\n\n${missing}`;
    return leaving;
  }

  get isCollecting(): boolean {
    return this.#joiner.pendingBytes >= largeEventBytes;
  }

  get largeEvent(): Uint8Array | null {
    return this.#large?.event ?? null;
  }

  resume(parsed: ParsedEvent): Piece {
    const large = this.#large;
    assert(large !== null, "no large event waits");
    this.#large = null;
    const { event, behind, isRest } = large;
    // It is half an event: see `isHalfEvent`.
    if (isRest && parsed.json === null && !parsed.isCut) return nothing;
    const leaving = this.#scanned(this.meter.passLarge(event, parsed), behind);
    if (isRest && leaving.length > 0)
      return parsed.json === null ? nothing : Buffer.concat([leaving, blankLine]);
    if (behind.length === 0 || this.ended || this.brokenBy !== null) return leaving;
    const more = this.#advance(behind);
    return more.length === 0 ? leaving : Buffer.concat([leaving, more]);
  }

  /** Passes whole events, up to a large one. */
  #advance(events: Uint8Array): Uint8Array {
    if (events.length < largeEventBytes) return this.#pass(events, nothing);
    for (let start = 0, end = 0; start < events.length; start = end) {
      end = eventEnd(events, start);
      if (end - start < largeEventBytes) continue;
      const before = start === 0 ? nothing : this.#pass(events.subarray(0, start), events.subarray(start));
      if (!this.ended && this.brokenBy === null) {
        this.#large = { event: events.subarray(start, end), behind: events.subarray(end), isRest: false };
      }
      return before;
    }
    return this.#pass(events, nothing);
  }

  #pass(events: Uint8Array, behind: Uint8Array): Uint8Array {
    return this.#scanned(this.meter.pass(events), behind);
  }

  /** `behind` has come after the events that were scanned. */
  #scanned(leaving: Uint8Array, behind: Uint8Array): Uint8Array {
    this.brokenBy = failedAfter(this.meter, this.meter.failure);
    if (this.meter.held !== null) this.#takeTerminal(this.meter.held, behind);
    if (leaving.length > 0) this.#begun = true;
    this.streamed?.add(leaving);
    return leaving;
  }

  get streamed(): StreamedItems | undefined {
    return this.#call.streamed;
  }

  get endedIds(): EndedIds | null {
    return this.meter.endedIds;
  }

  #takeTerminal(held: Uint8Array, behind: Uint8Array): void {
    const end = eventEnd(held, 0);
    if (end === held.length && behind.length === 0) {
      this.#terminal = held;
      return;
    }
    const rest = [held.subarray(end), behind].map(withoutContent);
    this.#terminal = Buffer.concat([held.subarray(0, end), ...rest]);
  }

  get ended(): boolean {
    return this.#terminal !== null;
  }

  /** The provider's bytes stay as they are. */
  showUsage(): void {}

  terminal(): Piece {
    return this.#terminal ?? nothing;
  }

  failure(error: GatewayError, charged: Usage | null): string {
    const { sequenceNumber, responseId, hasBegun } = this.meter.position;
    return this.#dialect.inBandError(error, this.#call.requestId, {
      sequenceNumber,
      responseId: responseId ?? "resp_failed",
      model: this.#call.model,
      createdAtSeconds: this.#call.atSeconds,
      hasBegun,
      usage: charged,
    });
  }

  heartbeat(): string {
    return this.#dialect.heartbeat(this.#begun, this.meter.position.sequenceNumber);
  }

  override get usage(): ReportedUsage | null {
    return this.brokenBy instanceof FailedAnswer ? this.brokenBy.usage : super.usage;
  }

  override get started(): boolean {
    // A model may have thought without showing it.
    return super.started || isBilled(this.brokenBy) || this.meter.reportedOutput > 0;
  }
}
