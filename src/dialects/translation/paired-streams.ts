import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import type { ClientCall, ClientDialect, StreamWriter } from "../client-dialect.ts";
import { eventsOf } from "../ir/events.ts";
import { FiguresAge } from "../ir/figures-age.ts";
import type { IrEvent } from "../ir/ir.ts";
import type { ProviderDialect, StreamReader } from "../provider-dialect.ts";
import type { SseFrame } from "../sse/frame.ts";
import { type Restoration, StreamRestorer } from "./restore-answer.ts";
import { Shortcut, stencilOf } from "./shortcut.ts";
import type { StreamTranslator } from "./translation.ts";

/** Everything that an answer needs on its way from the provider to the client. */
export interface Ways {
  readonly client: ClientDialect;
  readonly provider: ProviderDialect;
  readonly call: ClientCall;
  readonly restoration: Restoration;
}

/** Frames that differ in more than their text are not worth looking for a shortcut again and again. */
const maxFutile = 4;

/** A provider's stream reader and a client's stream writer put together. */
export class PairedStreams implements StreamTranslator {
  readonly #provider: ProviderDialect;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: StreamRestorer;
  #written = "";
  #produced = "";
  #wholeRead = false;
  /** What the last frame told, if it was one thing only. */
  #told: IrEvent | null = null;
  #toldMore = false;
  /** Shortcuts that were made in a row and never used. */
  #futile = 0;
  shortcut: Shortcut | null = null;
  #usage: ReportedUsage | null = null;
  readonly #figuresAge = new FiguresAge();
  serviceTier: string | null = null;
  started = false;

  constructor({ client, provider, call, restoration }: Ways) {
    this.#provider = provider;
    this.#writer = client.createStreamWriter(call);
    this.#restorer = new StreamRestorer(restoration, (event) => this.#write(event));
    this.#reader = provider.createStreamReader((event) => this.#tell(event));
  }

  push(frame: SseFrame): string {
    this.#told = null;
    this.#toldMore = false;
    this.#figuresAge.nextFrame();
    this.#reader.push(frame);
    this.shortcut = this.#findShortcut(frame);
    return this.#take();
  }

  pushWhole(body: JsonObject): string {
    for (const event of eventsOf(this.#provider.readResponse(body))) this.#restorer.push(event);
    this.#wholeRead = true;
    return this.#take();
  }

  end(): string {
    if (!this.#wholeRead) this.#reader.end();
    return this.#take();
  }

  get usage(): ReportedUsage | null {
    return this.#figuresAge.judge(this.#usage);
  }

  get ended(): boolean {
    return this.#wholeRead || this.#reader.ended;
  }

  terminal(): string {
    return this.#writer.terminal();
  }

  failure(error: GatewayError, requestId: string): string {
    return this.#writer.failure(error, requestId);
  }

  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  takeProduced(): string {
    const produced = this.#produced;
    this.#produced = "";
    return produced;
  }

  #tell(event: IrEvent): void {
    this.#toldMore = this.#told !== null;
    this.#told = event;
    this.#figuresAge.see(event);
    this.#restorer.push(event);
  }

  #findShortcut({ event, data }: SseFrame): Shortcut | null {
    const told = this.#told;
    if (told?.type !== "delta" || this.#toldMore || !this.#restorer.keepsDeltas) return null;
    // A frame that was cut in two comes here, however many of its kind have taken the shortcut.
    if (this.shortcut?.fits(told.index, event, data) === true) return this.shortcut;
    const to = this.#writer.stencil(told.index);
    if (to === null || this.#futile === maxFutile) return null;
    this.#futile += 1;
    const from = stencilOf(event, data, told.text, (probed) => this.#reader.plainText(probed));
    return from === null
      ? null
      : new Shortcut(told.index, from, to, (text) => this.#passed(told.index, text));
  }

  #passed(index: number, text: string): void {
    this.#futile = 0;
    this.#writer.passed(index, text);
    this.#figuresAge.nextFrame();
    this.#figuresAge.sawContent();
    this.#produce(text);
  }

  #write(event: IrEvent): void {
    switch (event.type) {
      case "start":
      case "usage":
        this.#usage = event.usage ?? this.#usage;
        break;
      case "service_tier":
        this.serviceTier = event.tier;
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
    this.started = true;
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}
