import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  nothingReported,
  type ReportedExtras,
  type ReportedUsage,
  type Tiers,
  type Usage,
} from "../../base/usage/usage.ts";
import type { StreamWriter, WriterContext } from "../client-dialect.ts";
import { BlockOrder } from "../ir/block-order.ts";
import { eventsOf } from "../ir/events.ts";
import type { IrEvent } from "../ir/ir.ts";
import { UsageFreshness } from "../ir/usage-freshness.ts";
import type { StreamReader, Target } from "../provider-dialect.ts";
import { ProducedText } from "../sse/produced-text.ts";
import type { SseFrame } from "../sse/sse.ts";
import type { ReportedSoFar } from "../usage/usage-figures.ts";
import { StreamRestorer, type ToolMapping } from "./restore-answer.ts";

/** What is needed to translate an answer from the provider's dialect to the client's. */
export interface TranslationContext {
  readonly target: Target;
  readonly call: WriterContext;
  readonly toolMapping: ToolMapping;
}

/**
 * Translates a stream frame by frame: the provider's stream reader feeds the client's stream writer. `push` never returns
 * the frames that end the client's stream: the caller settles first and then takes them from `terminal`.
 */
export class StreamTranslator implements ReportedSoFar {
  readonly #target: Target;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: StreamRestorer;
  readonly #order = new BlockOrder();
  #written = "";
  readonly #produced = new ProducedText();
  #wholeRead = false;
  #wholeExtras: ReportedExtras | null = null;
  #usage: ReportedUsage | null = null;
  readonly #usageFreshness = new UsageFreshness();
  #serviceTier: Tiers = {};
  #hasEndedBlock = false;
  #hasProduced = false;

  constructor({ target, call, toolMapping }: TranslationContext) {
    this.#target = target;
    this.#writer = call.source.dialect.createStreamWriter(call);
    this.#restorer = new StreamRestorer(toolMapping, (event) => this.#write(event));
    this.#reader = target.dialect.createStreamReader((event) => this.#receive(event), target);
  }

  /** As far as the provider has reported them; the service tier by OpenAI's names. */
  get extras(): ReportedExtras {
    const reported = this.#wholeExtras ?? this.#reader.extras ?? nothingReported;
    return { ...reported, tiers: { ...reported.tiers, ...this.#serviceTier } };
  }

  /** The client's frames as text, possibly "". Throws a GatewayError if the provider reports a failure or is malformed. */
  push(frame: SseFrame): string {
    this.#usageFreshness.nextFrame();
    this.#reader.push(frame);
    return this.#take();
  }

  /** For a provider that sends one JSON body although a stream was requested. */
  pushWhole(body: JsonObject): string {
    const response = this.#target.dialect.readResponse(body, this.#target);
    for (const event of eventsOf(response)) this.#restorer.push(event);
    this.#wholeExtras = this.#target.dialect.readExtras(body);
    this.#wholeRead = true;
    return this.#take();
  }

  /** At the end of the provider's body; decides whether that was a proper end (see `ended`). */
  end(): string {
    if (!this.#wholeRead) this.#reader.end();
    return this.#take();
  }

  get usage(): ReportedUsage | null {
    return this.#usageFreshness.apply(this.#usage);
  }

  /** What the provider has reported so far, as it has reported it. */
  get partialUsage(): ReportedUsage | null {
    return this.#usageFreshness.partialUsage;
  }

  get reportedOutput(): number {
    return this.#usageFreshness.reportedOutput;
  }

  /** True once the provider's stream has ended properly. */
  get ended(): boolean {
    return this.#wholeRead || this.#reader.ended;
  }

  /** The answer is complete, although the provider has not ended its stream. */
  get isComplete(): boolean {
    return this.#reader.isComplete === true;
  }

  /** The length of all reasoning so far that only its provider can read. It is content, too. */
  get sealedChars(): number {
    return this.#reader.sealedChars ?? 0;
  }

  /** Whether the last text is complete, and none has followed it: then only the end and the usage may be missing. */
  get hasEndedText(): boolean {
    return this.#hasEndedBlock || this.#reader.hasEndedText === true;
  }

  /** True once content (text, reasoning, tool call) has been written, or the provider has reported output. */
  get started(): boolean {
    return this.#hasProduced || this.sealedChars > 0;
  }

  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void {
    this.#written += this.#writer.write({ type: "usage", usage });
  }

  /** The frames that end the client's stream; called once, after `ended`. */
  terminal(): string {
    return this.#writer.terminal();
  }

  /** The client's in-band error; never looks like a proper end. Shows what was charged, null for nothing. */
  failure(error: GatewayError, requestId: string, charged: Usage | null): string {
    return this.#writer.failure(error, requestId, charged);
  }

  /** A heartbeat that is legal after the frames written so far. */
  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  /** Text produced since the last call, for counting it locally and for progress. */
  takeProduced(): string {
    return this.#produced.take();
  }

  get producedChars(): number {
    return this.#produced.length;
  }

  #receive(event: IrEvent): void {
    if (event.type === "delta") this.#hasEndedBlock = false;
    else if (event.type === "block_end" || event.type === "finish") this.#hasEndedBlock = true;
    this.#restorer.push(this.#usageFreshness.observe(event));
  }

  #write(event: IrEvent): void {
    switch (event.type) {
      case "start":
        this.#usage = event.usage;
        break;
      case "usage":
        this.#usage = event.usage;
        // A model may have thought without showing it.
        if (event.usage.outputTokens > 0) this.#hasProduced = true;
        break;
      case "service_tier":
        this.#serviceTier = { service_tier: event.tier };
        break;
      case "block_start":
        if (event.block.type === "tool_call") this.#produce(event.block.name);
        break;
      case "delta":
        this.#produce(event.text);
        break;
    }
    if (this.#order.hold(event)) return;
    this.#written += this.#writer.write(event);
    for (const released of this.#order.release()) this.#written += this.#writer.write(released);
  }

  #produce(text: string): void {
    this.#produced.add(text);
    this.#hasProduced = true;
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}
