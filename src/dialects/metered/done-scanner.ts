import type { JsonObject } from "../../base/json.ts";
import { noUsage, type ReportedExtras } from "../../base/usage/usage.ts";
import { reportedFailure } from "../errors/failure.ts";
import { figures as chatFigures } from "../openai-chat/provider/usage-in.ts";
import type { ParsedEvent } from "../sse/sse.ts";
import { type EventAction, StreamScanner } from "../sse/stream-scanner.ts";
import { addReported } from "../usage/usage-figures.ts";
import type { MeteredFigures } from "./route.ts";

/** What the events of a route's streams mean. */
export interface DoneEvents {
  /** The types of those that end a result, and have its figures. */
  readonly done: readonly string[];
  /** How many results were requested. A provider can return fewer. */
  readonly results: number;
  read(event: JsonObject): MeteredFigures;
  /** What a stream that has begun costs for the results that it breaks off before; `bytes` have come of it. */
  unfinished(missing: number, bytes: number): MeteredFigures;
}

/** Streams of named events, of which the last ones have the usage: one of all, or as many as there are results one of each. */
export class DoneScanner extends StreamScanner {
  extras: ReportedExtras | null = null;
  protected hasFinished = false;
  readonly #events: DoneEvents;
  /** The usage of the results received so far; null before the first. */
  #found: MeteredFigures | null = null;
  #missing: number;
  #bytes = 0;

  constructor(events: DoneEvents) {
    super();
    this.#events = events;
    this.#missing = events.results;
  }

  override pass(events: Uint8Array): Uint8Array {
    const leaving = super.pass(events);
    this.#notePartial(events);
    return leaving;
  }

  override passLarge(event: Uint8Array, parsed: ParsedEvent): Uint8Array {
    const leaving = super.passLarge(event, parsed);
    this.#notePartial(event);
    return leaving;
  }

  /** What it costs if it breaks off here. */
  #notePartial({ length }: Uint8Array): void {
    this.#bytes += length;
    if (!this.started || this.hasFinished) return;
    const rest = this.#events.unfinished(this.#missing, this.#bytes);
    const { usage, extras } = this.#found === null ? rest : sumOf(this.#found, rest);
    this.partialUsage = usage;
    this.extras = extras;
  }

  override missingTerminal(): string | null {
    if (this.#found === null) return null;
    this.#finish(this.#found);
    return "";
  }

  #finish({ usage, extras }: MeteredFigures): void {
    this.hasFinished = true;
    this.partialUsage = usage;
    this.extras = extras;
  }

  protected actionFor(json: JsonObject | null): EventAction {
    if (json === null) return "forward";
    if (json["type"] === "error" || json["error"] != null) {
      this.failure = reportedFailure(json, chatFigures);
      return "stop";
    }
    if (typeof json["type"] !== "string" || !this.#events.done.includes(json["type"])) return "forward";
    const figures = this.#events.read(json);
    this.#found = this.#found === null ? figures : sumOf(this.#found, figures);
    if (this.#found.usage !== null) this.takeFigures(this.#found.usage);
    this.#missing -= 1;
    if (this.#missing > 0) return "forward";
    this.#finish(this.#found);
    return "hold";
  }

  /** The text of a transcript. Pictures and speech have none. */
  protected producedBy({ type, delta }: JsonObject): string | null {
    return type === "transcript.text.delta" && typeof delta === "string" ? delta : null;
  }

  /** Anything else is content, although it cannot be counted. */
  protected sealedIn(event: JsonObject): number {
    return (this.producedBy(event) ?? "") === "" && Object.keys(event).length > 0 ? 1 : 0;
  }

  protected endsText(): boolean {
    return false;
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
