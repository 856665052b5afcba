import { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import { SseDecoder } from "../../dialects/sse/sse.ts";
import type { StreamTranslator } from "../../dialects/translation/translation.ts";
import type { StreamRelayer } from "./stream-relayer.ts";

/**
 * A string that grows is a list of its pieces, and a piece that was cut out of the provider's text keeps all
 * of that text alive: a word costs the memory of its whole event. So they are joined from time to time; an
 * answer of 24,000 characters then takes 53 KB instead of 1.3 MB.
 */
const mostLooseChars = 512;

/** A provider's stream in another dialect than the client's, read and written again event by event. */
export class TranslatedRelayer implements StreamRelayer {
  readonly #decoder = new SseDecoder();
  readonly #translator: StreamTranslator;
  readonly #requestId: string;
  #produced = "";
  /** How much of it is one piece of memory. */
  #joinedChars = 0;
  /** Where the answer is written anew, so are its ids. */
  readonly given: readonly string[] = [];
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

  get usage(): ReportedUsage | null {
    return this.#translator.ended ? this.#translator.usage : null;
  }

  get partialUsage(): ReportedUsage | null {
    return this.#translator.usage;
  }

  /** The provider's own tools are left out of a translated request, so that only the tier can cost extra. */
  get extras(): ReportedExtras | null {
    const { serviceTier } = this.#translator;
    return serviceTier === null ? null : { tier: serviceTier };
  }

  get started(): boolean {
    return this.#translator.started;
  }

  takeProduced(): string {
    const produced = this.#produced + this.#translator.takeProduced();
    this.#produced = "";
    this.#joinedChars = 0;
    return produced;
  }

  get producedChars(): number {
    this.#produced += this.#translator.takeProduced();
    if (this.#produced.length - this.#joinedChars > mostLooseChars) this.#join();
    return this.#produced.length;
  }

  /** The runtime joins a string, in its place, when its length in UTF-8 is asked for. */
  #join(): void {
    Buffer.byteLength(this.#produced);
    this.#joinedChars = this.#produced.length;
  }
}
