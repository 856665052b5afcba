import type { JsonObject } from "../../base/json.ts";
import { noUsage, type ReportedExtras } from "../../base/usage/usage.ts";
import { cutShort, reportedFailure } from "../errors/failure.ts";
import { usageReader } from "../openai-chat/provider/usage-in.ts";
import { streamedText } from "../provider-response/produced.ts";
import { StreamReader } from "../provider-response/stream-reader.ts";
import type { SseFrame } from "../sse/sse.ts";
import { addReported } from "../usage/reported-usage.ts";
import type { MeteredFigures } from "./route.ts";

/** The meaning of the events of a route's streams. */
export interface DoneEvents {
  /** Types of the events that end a result, and report its usage. */
  readonly done: readonly string[];
  /** Number of requested results. A provider can return fewer. */
  readonly results: number;
  read(event: JsonObject): MeteredFigures;
  /** The usage of results that a stream breaks off before completing; `bytes` of it have arrived. */
  unfinished(missing: number, bytes: number): MeteredFigures;
}

/** Reads streams of named events whose last events report usage: one for the whole response, or one for each result. */
export class DoneReader extends StreamReader {
  override readonly missingEnd = "";
  readonly #events: DoneEvents;
  /** The usage of the results received so far; null before the first. */
  #found: MeteredFigures | null = null;
  #missing: number;
  #bytes = 0;
  #hasContent = false;

  constructor(events: DoneEvents) {
    super(false);
    this.#events = events;
    this.#missing = events.results;
  }

  override read(frame: SseFrame) {
    this.#bytes += frame.data.length;
    return super.read(frame);
  }

  protected readEvent(event: JsonObject): void {
    const { type, delta } = event;
    if (type === "error" || event["error"] != null) {
      this.emit({ type: "failure", failure: reportedFailure(event, usageReader) });
      return;
    }
    // The text of a transcript. Anything else, such as a picture or speech, is content that cannot be counted.
    const text = type === "transcript.text.delta" && typeof delta === "string" ? delta : "";
    const isContent = Object.keys(event).length > 0;
    this.#hasContent ||= isContent;
    this.emitWritten(text || streamedText(event), isContent && text === "" ? 1 : 0);
    if (typeof type === "string" && this.#events.done.includes(type)) this.#readResult(event);
    if (this.#found !== null && this.#missing <= 0) this.#end(this.#found);
    else if (this.#hasContent) this.emit({ type: "cost", ...this.#unfinished(), isFinal: false });
  }

  protected readEnd(): void {
    if (this.#found === null) throw cutShort();
    this.#end(this.#found);
  }

  #readResult(event: JsonObject): void {
    const read = this.#events.read(event);
    this.#found = this.#found === null ? read : sumOf(this.#found, read);
    this.#missing -= 1;
    if (this.#found.usage !== null) this.emit({ type: "usage", usage: this.#found.usage });
  }

  #end(found: MeteredFigures): void {
    this.emit({ type: "cost", ...found, isFinal: true });
    this.emit({ type: "end" });
  }

  /** The usage if the stream breaks off now. */
  #unfinished(): MeteredFigures {
    const rest = this.#events.unfinished(this.#missing, this.#bytes);
    return this.#found === null ? rest : sumOf(this.#found, rest);
  }
}

function sumOf(one: MeteredFigures, other: MeteredFigures): MeteredFigures {
  return {
    usage: addReported(one.usage ?? noUsage, other.usage ?? noUsage),
    extras: extrasOf(one.extras, other.extras),
  };
}

function extrasOf(one: ReportedExtras, other: ReportedExtras): ReportedExtras {
  const units = { ...one.units };
  for (const [name, amount] of Object.entries(other.units ?? {})) units[name] = (units[name] ?? 0) + amount;
  return {
    ...other,
    ...(other.units === undefined ? {} : { units }),
    imageInputTokens: (one.imageInputTokens ?? 0) + (other.imageInputTokens ?? 0),
    imageOutputTokens: (one.imageOutputTokens ?? 0) + (other.imageOutputTokens ?? 0),
  };
}
