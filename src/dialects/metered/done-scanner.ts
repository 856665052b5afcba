import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { JsonObject } from "../../base/json.ts";
import { addUsage, noUsage } from "../../base/usage.ts";
import { reportedFailure } from "../errors/failure.ts";
import { figures } from "../openai-chat/provider/usage-in.ts";
import type { RawEvent } from "../sse/raw-events.ts";
import { type EventAction, earlier, StreamScanner } from "../sse/stream-scanner.ts";
import type { ReadMetered } from "./route.ts";

const errorMark = Buffer.from('"error"');

/** Streams of named events, of which the last ones have the usage: one of all, or as many as there are results one of each. */
export class DoneScanner extends StreamScanner {
  extras: ReportedExtras | null = null;
  readonly #marks: readonly Buffer[];
  readonly #done: readonly string[];
  readonly #read: (event: JsonObject) => Pick<ReadMetered, "usage" | "extras">;
  /** Results that have not come. */
  #missing: number;

  constructor(
    done: readonly string[],
    read: (event: JsonObject) => Pick<ReadMetered, "usage" | "extras">,
    results = 1,
  ) {
    super();
    this.#missing = results;
    this.#done = done;
    this.#marks = done.map((name) => Buffer.from(`"${name}"`));
    this.#read = read;
  }

  protected get hasFinished(): boolean {
    return this.extras !== null;
  }

  /** A provider may make fewer than were asked for. */
  override missingTerminal(): string | null {
    return this.hasFinished ? "" : null;
  }

  protected firstMark(events: Buffer): number {
    let first = events.indexOf(errorMark);
    for (const mark of this.#marks) first = earlier(first, events.indexOf(mark));
    return first;
  }

  protected actionFor(event: RawEvent, json: JsonObject | null): EventAction {
    if (json === null) return "forward";
    if (json["type"] === "error" || json["error"] != null) {
      this.failure = reportedFailure(json, figures);
      return "stop";
    }
    if (typeof json["type"] !== "string" || !this.#done.includes(json["type"])) return "forward";
    const { usage, extras } = this.#read(json);
    if (usage !== null) {
      this.takeFigures(
        { ...this.partialUsage, ...usage, ...addUsage(this.partialUsage ?? noUsage, usage) },
        event,
      );
    }
    this.extras = { ...extras, ...sumOf(this.extras ?? {}, extras) };
    this.#missing -= 1;
    return this.#missing > 0 ? "forward" : "hold";
  }

  /** The text of a transcript. Pictures and speech have none. */
  protected producedBy({ type, delta }: JsonObject): string {
    return type === "transcript.text.delta" && typeof delta === "string" ? delta : "";
  }

  /** Whatever comes is content, although nobody can count it. */
  protected sealedIn({ type }: JsonObject): number {
    return typeof type === "string" ? 1 : 0;
  }

  protected endsText(): boolean {
    return false;
  }
}

function sumOf(one: ReportedExtras, other: ReportedExtras): ReportedExtras {
  const units = { ...one.units };
  for (const [name, amount] of Object.entries(other.units ?? {})) units[name] = (units[name] ?? 0) + amount;
  return {
    ...(other.units === undefined ? {} : { units }),
    imageInputTokens: (one.imageInputTokens ?? 0) + (other.imageInputTokens ?? 0),
    imageOutputTokens: (one.imageOutputTokens ?? 0) + (other.imageOutputTokens ?? 0),
  };
}
