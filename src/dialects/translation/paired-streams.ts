import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Tiers } from "../../base/service-tiers.ts";
import type { ReportedUsage, Usage } from "../../base/usage.ts";
import type { ClientDialect, StreamWriter, WriterContext } from "../client-dialect.ts";
import { eventsOf } from "../ir/events.ts";
import type { IrEvent } from "../ir/ir.ts";
import { UsageFreshness } from "../ir/usage-freshness.ts";
import type { StreamReader, Target } from "../provider-dialect.ts";
import type { SseFrame } from "../sse/frame.ts";
import { patternOf } from "./frame-pattern.ts";
import { StreamRestorer, type ToolMapping } from "./restore-answer.ts";
import { Shortcut } from "./shortcut.ts";
import type { StreamTranslator } from "./translation.ts";

/** What is needed to translate an answer from the provider's dialect to the client's. */
export interface TranslationContext {
  readonly client: ClientDialect;
  readonly target: Target;
  readonly call: WriterContext;
  readonly toolMapping: ToolMapping;
}

/** After this many shortcuts in a row that matched no frame, no more are made. */
const maxUnusedShortcuts = 4;

/** Translates a stream: the provider's stream reader feeds the client's stream writer. */
export class PairedStreams implements StreamTranslator {
  readonly #target: Target;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: StreamRestorer;
  #written = "";
  #produced = "";
  #wholeRead = false;
  /** The last event of the current frame. */
  #emitted: IrEvent | null = null;
  #emittedMore = false;
  /** Shortcuts in a row that were never used. */
  #unusedShortcuts = 0;
  shortcut: Shortcut | null = null;
  #usage: ReportedUsage | null = null;
  readonly #usageFreshness = new UsageFreshness();
  #serviceTier: Tiers = {};
  #hasEndedBlock = false;
  #hasProduced = false;

  constructor({ client, target, call, toolMapping }: TranslationContext) {
    this.#target = target;
    this.#writer = client.createStreamWriter(call);
    this.#restorer = new StreamRestorer(toolMapping, (event) => this.#write(event));
    this.#reader = target.dialect.createStreamReader((event) => this.#receive(event), target);
  }

  get tiers(): Tiers {
    return { ...this.#reader.otherTiers, ...this.#serviceTier };
  }

  push(frame: SseFrame): string {
    this.#emitted = null;
    this.#emittedMore = false;
    this.#usageFreshness.nextFrame();
    this.#reader.push(frame);
    this.shortcut = this.#findShortcut(frame);
    return this.#take();
  }

  pushWhole(body: JsonObject): string {
    const response = this.#target.dialect.readResponse(body, this.#target);
    for (const event of eventsOf(response)) this.#restorer.push(event);
    this.#wholeRead = true;
    return this.#take();
  }

  end(): string {
    if (!this.#wholeRead) this.#reader.end();
    return this.#take();
  }

  get usage(): ReportedUsage | null {
    return this.#usageFreshness.apply(this.#usage);
  }

  get ended(): boolean {
    return this.#wholeRead || this.#reader.ended;
  }

  get isComplete(): boolean {
    return this.#reader.isComplete === true;
  }

  get sealedChars(): number {
    return this.#reader.sealedChars ?? 0;
  }

  get hasEndedText(): boolean {
    return this.#hasEndedBlock || this.#reader.hasEndedText === true;
  }

  get started(): boolean {
    return this.#hasProduced || this.sealedChars > 0;
  }

  showUsage(usage: Usage): void {
    this.#written += this.#writer.write({ type: "usage", usage });
  }

  terminal(): string {
    return this.#writer.terminal();
  }

  failure(error: GatewayError, requestId: string, charged: Usage | null): string {
    return this.#writer.failure(error, requestId, charged);
  }

  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  takeProduced(): string {
    const produced = this.#produced;
    this.#produced = "";
    return produced;
  }

  #receive(event: IrEvent): void {
    // Usage that every frame reports anew is read from frames that are not parsed, too.
    if (event.type !== "usage" || this.#reader.figures === undefined) {
      this.#emittedMore = this.#emitted !== null;
      this.#emitted = event;
    }
    this.#usageFreshness.observe(event);
    if (event.type === "delta") this.#hasEndedBlock = false;
    else if (event.type === "block_end" || event.type === "finish") this.#hasEndedBlock = true;
    this.#restorer.push(event);
  }

  #findShortcut({ event, data, parsed }: SseFrame): Shortcut | null {
    const emitted = this.#emitted;
    if (parsed !== undefined) return null;
    if (emitted?.type !== "delta" || this.#emittedMore || !this.#restorer.keepsDeltas) return null;
    // A frame that was split over two chunks is pushed although it matches the shortcut.
    if (this.shortcut?.fits(emitted.index, event, data) === true) return this.shortcut;
    const to = this.#writer.template(emitted.index);
    if (to === null || this.#unusedShortcuts === maxUnusedShortcuts) return null;
    this.#unusedShortcuts += 1;
    const { figures } = this.#reader;
    const textOf = (probed: JsonObject) => this.#reader.plainText(probed);
    const from = patternOf(event, data, emitted.text, { textOf, figures });
    if (from === null) return null;
    return new Shortcut(emitted.index, from, to, (text, read) => {
      this.#recordDeltas(emitted.index, text);
      figures?.record(read);
    });
  }

  #recordDeltas(index: number, text: string): void {
    this.#unusedShortcuts = 0;
    this.#hasEndedBlock = false;
    this.#writer.recordDeltas(index, text);
    this.#usageFreshness.nextFrame();
    this.#usageFreshness.observeContent();
    this.#produce(text);
  }

  #write(event: IrEvent): void {
    switch (event.type) {
      case "start":
        this.#usage = event.usage;
        break;
      case "usage":
        this.#usage = event.usage;
        // A model may have thought without showing it.
        if (event.usage.isUpToDate === true && event.usage.outputTokens > 0) this.#hasProduced = true;
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
    this.#written += this.#writer.write(event);
  }

  #produce(text: string): void {
    this.#produced += text;
    this.#hasProduced = true;
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}
