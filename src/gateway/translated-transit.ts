import { GatewayError } from "../base/errors.ts";
import type { Usage } from "../base/usage.ts";
import type { StreamTranslator } from "../dialects/codec.ts";
import { SseDecoder } from "../dialects/sse.ts";
import type { Transit } from "./transit.ts";

/** A provider's stream in another dialect than the client's, read and written again event by event. */
export class TranslatedTransit implements Transit {
  readonly #decoder = new SseDecoder();
  readonly #translator: StreamTranslator;
  readonly #requestId: string;
  #produced = "";
  brokenBy: GatewayError | null = null;

  constructor(translator: StreamTranslator, requestId: string) {
    this.#translator = translator;
    this.#requestId = requestId;
  }

  /** Behind its proper end a provider has nothing more to say, whatever it sends. */
  push(chunk: Uint8Array): string {
    let text = "";
    try {
      if (!this.ended) this.#decoder.feed(chunk);
      while (!this.ended) {
        const { shortcut } = this.#translator;
        if (shortcut !== null) text += this.#decoder.rewrite(shortcut);
        const frame = this.#decoder.next();
        if (frame === null) break;
        text += this.#translator.push(frame);
      }
    } catch (error) {
      this.#breakBy(error);
    }
    return text;
  }

  end(): string {
    let text = "";
    try {
      for (const frame of this.#decoder.end()) if (!this.ended) text += this.#translator.push(frame);
      if (!this.ended) text += this.#translator.end();
    } catch (error) {
      this.#breakBy(error);
    }
    return text;
  }

  #breakBy(error: unknown): void {
    if (!(error instanceof GatewayError)) throw error;
    this.brokenBy = error;
  }

  get ended(): boolean {
    return this.#translator.ended;
  }

  terminal(): string {
    return this.#translator.terminal();
  }

  failure(error: GatewayError): string {
    return this.#translator.failure(error, this.#requestId);
  }

  heartbeat(): string {
    return this.#translator.heartbeat();
  }

  get usage(): Usage | null {
    return this.#translator.ended ? this.#translator.usage : null;
  }

  get partialUsage(): Usage | null {
    return this.#translator.usage;
  }

  get started(): boolean {
    return this.#translator.started;
  }

  takeProduced(): string {
    const produced = this.#produced + this.#translator.takeProduced();
    this.#produced = "";
    return produced;
  }

  get producedChars(): number {
    this.#produced += this.#translator.takeProduced();
    return this.#produced.length;
  }
}
