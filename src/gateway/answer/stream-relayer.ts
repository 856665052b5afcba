import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage, Usage } from "../../base/usage/usage.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import type { EndedIds } from "../../dialects/openai-responses/client/turn-items.ts";
import type { ParsedEvent } from "../../dialects/sse/sse.ts";
import type { Piece } from "../exchange/client-call.ts";

/** What is known of a stream from reading it. */
interface StreamMeter {
  /** Whether the answer is complete, although the provider has not ended its stream. */
  isComplete(): boolean;
  /** The provider's usage for the whole answer, or for its failure; null until it has reported that. */
  readonly usage: ReportedUsage | null;
  /** The latest usage reported, for a stream that breaks off now. There may be more output than it says. */
  readonly partialUsage: ReportedUsage | null;
  /** Ids of the provider's resources that the client has seen. */
  readonly issued: readonly string[];
  /** What the provider has reported in addition to tokens. */
  readonly extras: ReportedExtras | null;
  /** True once there is something to charge: content has gone to the client, or the provider has reported output. */
  readonly started: boolean;
  /** Text produced since the last call. */
  takeProduced(): string;
  /** The length of that text. */
  readonly producedChars: number;
  /** The length of all reasoning so far that only its provider can read. It is content, too. */
  readonly sealedChars: number;
  /** Whether the last text is complete, and none has followed it: then only the end and the usage may be missing. */
  hasEndedText(): boolean;
}

/**
 * Turns a provider's stream into the client's, passed through or translated; the pump (stream-pump.ts) need not know
 * which. `push` and `end` never return the pieces that end the client's stream: those come from `terminal`, after the
 * charge is committed.
 */
export interface StreamRelayer extends StreamMeter {
  /** The pieces are not events: nothing can be inserted between them, and only closing the connection reports a failure. */
  readonly isRaw?: true;
  /** Takes a chunk of the provider, returns what may leave now. Check `largeEvent` and `brokenBy` afterwards. */
  push(chunk: Uint8Array): Piece;
  /** The provider's body has ended. Check `largeEvent`, and if there is one, call it again; then `brokenBy`. */
  end(): Piece;
  /**
   * A part of a large event has arrived, or a long response that the end may repeat. Completing it takes milliseconds, so the next
   * chunk is pushed in a separate event-loop iteration.
   */
  readonly isCollecting: boolean;
  /**
   * An event, or its data, that would take long to parse. Nothing behind it has been read, and nothing may be pushed before
   * `resume` was called with what it says; that returns what may leave now. There may be another one then.
   */
  readonly largeEvent: string | Uint8Array | null;
  resume(parsed: ParsedEvent): Piece;
  /**
   * Why the provider's stream failed, or null. Not thrown, because whatever came before the failure, even in the same
   * chunk, is delivered and charged.
   */
  readonly brokenBy: GatewayError | null;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void;
  terminal(): Piece;
  /** The streamed items of a response that is stored, in case `terminal` lacks them. */
  readonly streamed?: StreamedItems | undefined;
  /** The ids in the response that `terminal` contains whole. */
  readonly endedIds?: EndedIds | null;
  /** The dialect's in-band failure, which never looks like a proper end; shows what was charged, null for nothing. */
  failure(error: GatewayError, charged: Usage | null): string;
  /** Sent while the provider is silent. */
  heartbeat(): string;
}

/** A relayer that takes these values from the reader of its stream. */
export abstract class MeteredRelayer<Meter extends StreamMeter> implements StreamMeter {
  protected readonly meter: Meter;

  constructor(meter: Meter) {
    this.meter = meter;
  }

  get usage(): ReportedUsage | null {
    return this.meter.usage;
  }

  get partialUsage(): ReportedUsage | null {
    return this.meter.partialUsage;
  }

  get issued(): readonly string[] {
    return this.meter.issued;
  }

  get extras(): ReportedExtras | null {
    return this.meter.extras;
  }

  get started(): boolean {
    return this.meter.started;
  }

  takeProduced(): string {
    return this.meter.takeProduced();
  }

  get producedChars(): number {
    return this.meter.producedChars;
  }

  get sealedChars(): number {
    return this.meter.sealedChars;
  }

  hasEndedText(): boolean {
    return this.meter.hasEndedText();
  }

  isComplete(): boolean {
    return this.meter.isComplete();
  }
}
