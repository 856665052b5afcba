import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { StreamFindings } from "../../dialects/provider-response/stream-findings.ts";
import { largeEventBytes, type ParsedEvent } from "../../dialects/sse/event.ts";
import { SseDecoder, type SseFrame } from "../../dialects/sse/sse.ts";
import type { StreamTranslator } from "../../dialects/translation/stream-translator.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import type { StreamRelayer } from "./pending-response.ts";

/** Translates a provider's stream to the client's dialect, event by event. */
export class TranslatedRelayer implements StreamRelayer {
  readonly #decoder = new SseDecoder();
  readonly #translator: StreamTranslator;
  readonly #requestId: string;
  /** Frames that are complete only with the end of the body. */
  #lastFrames: SseFrame[] | null = null;
  #largeFrame: SseFrame | null = null;
  #writtenChars = 0;

  constructor(translator: StreamTranslator, requestId: string) {
    this.#translator = translator;
    this.#requestId = requestId;
  }

  get found(): StreamFindings {
    return this.#translator.found;
  }

  /** Ignores bytes after the proper end. */
  push(chunk: Uint8Array): string {
    if (this.ended) return "";
    return this.#advance("", chunk);
  }

  end(): string {
    let text = "";
    try {
      this.#lastFrames ??= this.#decoder.end();
      text = this.#advance("");
      if (this.ended || this.#largeFrame !== null || this.found.failure !== null) return text;
      text += this.#translator.end();
    } catch (error) {
      this.#breakBy(error);
    }
    return text;
  }

  get isCollecting(): boolean {
    return this.#decoder.pendingBytes >= largeEventBytes || this.#writtenChars >= largeBodyBytes;
  }

  get largeEvent(): string | null {
    return this.#largeFrame?.data ?? null;
  }

  resume(parsed: ParsedEvent): string {
    const frame = this.#largeFrame;
    assert(frame !== null, "no large event waits");
    this.#largeFrame = null;
    let text = "";
    try {
      text = this.#translator.push({ ...frame, parsed });
    } catch (error) {
      this.#breakBy(error);
      return text;
    }
    return this.#advance(text);
  }

  /**
   * Reads the received frames, up to a large one. A frame after much text counts as large, too: it may end a response,
   * and then repeats all of it.
   */
  #advance(written: string, chunk: Uint8Array | null = null): string {
    let text = written;
    try {
      if (chunk !== null) this.#decoder.feed(chunk);
      while (!this.ended) {
        const frame = this.#nextFrame();
        if (frame === null) break;
        if (Math.max(frame.data.length, text.length) >= largeEventBytes) {
          this.#largeFrame = frame;
          break;
        }
        text += this.#translator.push(frame);
      }
    } catch (error) {
      this.#breakBy(error);
    }
    this.#writtenChars += text.length;
    return text;
  }

  #nextFrame(): SseFrame | null {
    return this.#lastFrames === null ? this.#decoder.next() : (this.#lastFrames.shift() ?? null);
  }

  #breakBy(error: unknown): void {
    if (!(error instanceof GatewayError)) throw error;
    this.found.fail(error);
  }

  get ended(): boolean {
    return this.#translator.ended && this.found.failure === null;
  }

  get isComplete(): boolean {
    return this.#translator.isComplete;
  }

  showUsage(usage: Usage): void {
    this.#translator.showUsage(usage);
  }

  terminal(): string {
    return this.#translator.terminal();
  }

  failure(error: GatewayError, charged: Usage | null): string {
    return this.#translator.failure(error, this.#requestId, charged);
  }

  heartbeat(): string {
    return this.#translator.heartbeat();
  }
}
