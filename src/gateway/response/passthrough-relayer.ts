import { assert } from "../../base/assert.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ClientDialect } from "../../dialects/contract/client-dialect.ts";
import { cutShort } from "../../dialects/errors/failure.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import { StreamFindings } from "../../dialects/provider-response/stream-findings.ts";
import type { EndedIds, ReadEvent, StreamReader } from "../../dialects/provider-response/stream-reader.ts";
import { clientDialect, providerDialect, type SharedDialectName } from "../../dialects/registry.ts";
import { isDoneMark, largeEventBytes, type ParsedEvent } from "../../dialects/sse/event.ts";
import { SseDecoder, type SseFrame } from "../../dialects/sse/sse.ts";
import type { Piece } from "../exchange/client-call.ts";
import type { StreamRelayer } from "./pending-response.ts";

export interface PassthroughCall {
  readonly dialect: SharedDialectName;
  /** The client did not request the usage chunk that the gateway requested from the provider. */
  readonly hideUsage: boolean;
  readonly requestId: string;
  readonly model: string;
  readonly atSeconds: number;
  readonly isStored?: boolean;
  /** Set if the response is stored, or read for its summary. */
  readonly streamed?: StreamedItems | undefined;
  /** Reads events that are not the dialect's own. */
  readonly reader?: StreamReader;
}

/** What to do with an event. `hold` begins the stream's proper end, `stop` its failure. */
type EventAction = "forward" | "drop" | "tail" | "hold" | "stop";

const nothing = new Uint8Array(0);
const blankLine = Buffer.from("\n\n");

/** An event that is parsed on another thread, and the received bytes that contain it and what follows. */
interface LargeEvent {
  readonly frame: SseFrame;
  readonly bytes: Uint8Array;
}

/** Forwards the provider's bytes unchanged and at once; only the terminal event waits for the charge. */
export class PassthroughRelayer implements StreamRelayer {
  readonly found = new StreamFindings();
  readonly #call: PassthroughCall;
  readonly #dialect: ClientDialect;
  readonly #reader: StreamReader;
  readonly #decoder = new SseDecoder();
  #begun = false;
  #terminal: Piece | null = null;
  /** What the body may end with once the answer is complete, in a dialect that has no other end. */
  #tail: Uint8Array[] | null = null;
  #large: LargeEvent | null = null;
  /** The body has ended, perhaps with an event that is not complete. */
  #isOver = false;

  constructor(call: PassthroughCall) {
    const { dialect, isStored } = call;
    this.#call = call;
    this.#dialect = clientDialect(dialect);
    this.#reader = call.reader ?? providerDialect(dialect).createStreamReader({ target: null, isStored });
  }

  push(chunk: Uint8Array): Piece {
    this.#decoder.feed(chunk);
    return this.#relay(this.#decoder.bytes, 0);
  }

  end(): Piece {
    if (this.ended || this.found.failure !== null) return nothing;
    this.#isOver = true;
    this.#decoder.feedRest();
    const leaving = this.#relay(this.#decoder.bytes, 0);
    if (this.#large !== null || this.ended || this.found.failure !== null) return leaving;
    const { missingEnd } = this.#reader;
    const last = missingEnd !== null || this.#tail !== null ? this.#reader.end() : [];
    this.found.add(last);
    if (!this.found.ended) this.found.fail(last.find(isUnreadable)?.error ?? cutShort());
    else this.#terminal = this.#tail === null ? missingEnd : joined(this.#tail);
    return leaving;
  }

  get isCollecting(): boolean {
    return this.#decoder.pendingBytes >= largeEventBytes;
  }

  get largeEvent(): string | null {
    return this.#large?.frame.data ?? null;
  }

  resume(parsed: ParsedEvent): Piece {
    const large = this.#large;
    assert(large !== null, "no large event waits");
    this.#large = null;
    return this.#relay(large.bytes, this.#decoder.frameStart, { ...large.frame, parsed });
  }

  /** Relays what is left of these bytes, from a frame on that was parsed elsewhere, up to the next large one. */
  #relay(bytes: Uint8Array, from: number, parsed: SseFrame | null = null): Uint8Array {
    const decoder = this.#decoder;
    const pieces: Uint8Array[] = [];
    let keptFrom = from;
    let terminalFrom: number | null = null;
    let hasForwarded = false;
    const keepUpTo = (end: number, next: number) => {
      if (end > keptFrom) pieces.push(bytes.subarray(keptFrom, end));
      keptFrom = next;
    };
    for (let frame = parsed ?? decoder.next(); frame !== null; frame = decoder.next()) {
      const { frameStart, frameEnd } = decoder;
      const action = this.#actionFor(frame);
      if (action === "forward") hasForwarded = true;
      if (action === "drop") keepUpTo(frameStart, frameEnd);
      if (action === "tail") {
        keepUpTo(frameStart, frameEnd);
        this.#tail?.push(bytes.slice(frameStart, frameEnd));
      }
      if (action === "hold") {
        keepUpTo(frameStart, frameStart);
        terminalFrom = pieces.length;
      }
      if (action !== "stop") continue;
      if (this.found.failure === null) this.#large = { frame, bytes };
      keepUpTo(frameStart, bytes.length);
      break;
    }
    keepUpTo(bytes.length, bytes.length);
    if (terminalFrom !== null) this.#terminal = joined(pieces.splice(terminalFrom));
    // The body's last event may lack its blank line; without one it would merge with what follows.
    else if (this.#isOver) pieces.splice(0, pieces.length, ...(hasForwarded ? [...pieces, blankLine] : []));
    if (pieces.length > 0) this.#begun = true;
    return joined(pieces);
  }

  #actionFor(frame: SseFrame): EventAction {
    // Content there would not be charged.
    if (this.found.ended) return isDoneMark(frame.data) ? "forward" : "drop";
    if (frame.data.length >= largeEventBytes && frame.parsed === undefined) return "stop";
    const events = this.#reader.read(frame);
    // Half of an event is useless to clients, and what follows would become part of it.
    if (this.#isOver && events.some(isNoJson)) return "drop";
    this.found.add(events);
    this.streamed?.add(frame.data);
    if (this.found.failure !== null) return "stop";
    if (this.found.ended) return "hold";
    if (this.#reader.endsWithBody && (this.#tail !== null || events.some(isLastText))) {
      this.#tail ??= [];
      return "tail";
    }
    return this.#call.hideUsage && events.some(isUsageAlone) ? "drop" : "forward";
  }

  get streamed(): StreamedItems | undefined {
    return this.#call.streamed;
  }

  get issued(): readonly string[] {
    return this.found.issued;
  }

  get endedIds(): EndedIds | null {
    return this.found.endedIds;
  }

  get ended(): boolean {
    return this.#terminal !== null;
  }

  get isComplete(): boolean {
    return this.found.isComplete && this.#reader.missingEnd !== null;
  }

  /** The provider's bytes stay unchanged. */
  showUsage(): void {}

  terminal(): Piece {
    return this.#terminal ?? nothing;
  }

  failure(error: GatewayError, charged: Usage | null): string {
    const { sequenceNumber, responseId } = this.#reader.position;
    return this.#dialect.inBandError(error, this.#call.requestId, {
      sequenceNumber,
      responseId: responseId ?? "resp_failed",
      model: this.#call.model,
      createdAtSeconds: this.#call.atSeconds,
      hasBegun: this.found.hasBegun,
      usage: charged,
    });
  }

  heartbeat(): string {
    return this.#dialect.heartbeat(this.#begun, this.#reader.position.sequenceNumber, this.#call.model);
  }
}

function isLastText(event: ReadEvent): boolean {
  return event.type === "text_end" && event.isLast;
}

/** Mostly one piece, which is not copied. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length > 1 ? Buffer.concat(pieces) : (pieces[0] ?? nothing);
}

function isUnreadable(event: ReadEvent): event is Extract<ReadEvent, { type: "unreadable" }> {
  return event.type === "unreadable";
}

function isNoJson(event: ReadEvent): boolean {
  return event.type === "unreadable" && event.text !== "";
}

function isUsageAlone(event: ReadEvent): boolean {
  return event.type === "usage" && event.isAlone === true;
}
