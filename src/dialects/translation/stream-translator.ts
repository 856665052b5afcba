import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { StreamWriter, WriterContext } from "../contract/client-dialect.ts";
import type { Target } from "../contract/provider-dialect.ts";
import { BlockOrder } from "../ir/block-order.ts";
import type { IrEvent } from "../ir/ir.ts";
import { producedBy } from "../provider-response/produced.ts";
import type { ReadEvent } from "../provider-response/read-event.ts";
import { StreamMeter } from "../provider-response/stream-meter.ts";
import type { StreamReader } from "../provider-response/stream-reader.ts";
import type { SseFrame } from "../sse/sse.ts";
import { EventRestorer, type ToolMapping } from "./restore-response.ts";

/** The parameters for translating a response from the provider's dialect to the client's. */
export interface TranslationContext {
  readonly target: Target;
  readonly call: WriterContext;
  readonly toolMapping: ToolMapping;
}

/**
 * Translates a stream frame by frame: the provider's stream reader feeds the client's stream writer. `push` never returns
 * the frames that end the client's stream: the caller settles first and then takes them from `terminal`.
 */
export class StreamTranslator {
  readonly meter = new StreamMeter();
  readonly #target: Target;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: EventRestorer;
  readonly #order = new BlockOrder();
  #written = "";

  constructor({ target, call, toolMapping }: TranslationContext) {
    this.#target = target;
    this.#writer = call.source.dialect.createStreamWriter(call);
    this.#restorer = new EventRestorer(toolMapping, (event) => this.#write(event));
    this.#reader = target.dialect.createStreamReader({ target });
  }

  /** The client's frames as text, possibly "". Throws a GatewayError if the provider reports a failure or is malformed. */
  push(frame: SseFrame): string {
    return this.#translate(this.#reader.read(frame));
  }

  /** For a provider that sends one JSON body although a stream was requested. */
  pushWhole(body: JsonObject): string {
    const { dialect } = this.#target;
    const events = dialect.readResponse(body, this.#target);
    return this.#translate([
      ...events,
      { type: "written", text: producedBy(events), encryptedChars: 0 },
      { type: "extras", extras: dialect.readExtras(body) },
      { type: "end" },
    ]);
  }

  /** Call at the end of the provider's body. Throws if the stream had no proper end. */
  end(): string {
    return this.ended ? "" : this.#translate(this.#reader.end());
  }

  /** True once the provider's stream has ended properly. */
  get ended(): boolean {
    return this.meter.ended;
  }

  /**
   * The response is complete, although the provider has not ended its stream. Only for dialects whose providers omit
   * the end.
   */
  get isComplete(): boolean {
    return this.meter.isComplete && this.#reader.missingEnd !== null;
  }

  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void {
    this.#written += this.#writer.write({ type: "usage", usage });
  }

  /** The frames that end the client's stream; called once, after `ended`. */
  terminal(): string {
    return this.#take() + this.#writer.terminal();
  }

  /** The client's in-band error; never looks like a proper end. Shows what was charged, null for nothing. */
  failure(error: GatewayError, requestId: string, charged: Usage | null): string {
    return this.#writer.failure(error, requestId, charged);
  }

  /** A heartbeat that is legal after the frames written so far. */
  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  #translate(events: readonly ReadEvent[]): string {
    for (const event of this.meter.answerIn(events)) this.#restorer.push(event);
    return this.#take();
  }

  #write(event: IrEvent): void {
    if (this.#order.hold(event)) return;
    this.#written += this.#writer.write(event);
    for (const released of this.#order.release()) this.#written += this.#writer.write(released);
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}
