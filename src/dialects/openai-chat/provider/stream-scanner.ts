import type { ReportedExtras } from "../../../base/extra-usage.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { ReportedUsage } from "../../../base/usage.ts";
import { reportedFailure } from "../../errors/failure.ts";
import type { ScannerOptions } from "../../provider-dialect.ts";
import { jsonOf, type RawEvent, rawEvents } from "../../sse/raw-events.ts";
import { type EventAction, earlier, none, StreamScanner } from "../../sse/stream-scanner.ts";
import { givenIds } from "./given-ids.ts";
import { readExtras, readUsage } from "./usage-in.ts";

const doneMark = Buffer.from("[DONE]");
const usageMark = Buffer.from('"usage"');
const audioMark = Buffer.from('"audio"');
const errorMark = Buffer.from('"error"');
const space = 32;
const colon = 58;
const openBrace = 123;

/**
 * Chat streams end with `data: [DONE]`; usage comes in a chunk of its own before it, or on the last one.
 * A mark with its quotes cannot stand inside a JSON string, where quotes are escaped.
 */
export class ChatScanner extends StreamScanner {
  partialUsage: ReportedUsage | null = null;
  extras: ReportedExtras | null = null;
  readonly #hideUsage: boolean;
  readonly #readsExtras: boolean;
  #finished = false;
  /** Where the last figures end within the events that are being passed. */
  #figuresEnd = 0;
  /** Content came behind the last figures, so they cannot know all of it. */
  #areFiguresOutdated = false;

  constructor({ hideUsage, readsExtras }: ScannerOptions) {
    super();
    this.#readsExtras = readsExtras;
    this.#hideUsage = hideUsage;
  }

  get usage(): ReportedUsage | null {
    if (this.failure !== null || this.partialUsage === null) return null;
    return this.#areFiguresOutdated ? { ...this.partialUsage, isOutputDoubtful: true } : this.partialUsage;
  }

  override pass(events: Uint8Array): Uint8Array {
    this.#figuresEnd = 0;
    const leaving = super.pass(events);
    if (this.partialUsage !== null) this.#lookBehindFigures(events.subarray(this.#figuresEnd));
    return leaving;
  }

  /** There is mostly nothing but `[DONE]`. */
  #lookBehindFigures(events: Uint8Array): void {
    for (const { data } of rawEvents(events)) {
      const chunk = jsonOf(data);
      if (chunk !== null && this.producedBy(chunk) !== "") this.#areFiguresOutdated = true;
    }
  }

  protected firstMark(events: Buffer): number {
    const end = earlier(events.indexOf(doneMark), events.indexOf(errorMark));
    const first = earlier(end, firstFigures(events));
    return this.#readsExtras ? earlier(first, events.indexOf(audioMark)) : first;
  }

  protected actionFor({ data, end }: RawEvent): EventAction {
    if (data === "[DONE]") return "hold";
    const chunk = jsonOf(data);
    if (chunk === null) return "forward";
    if (isObject(chunk["error"])) {
      this.failure = reportedFailure(chunk);
      return "stop";
    }
    if (this.#readsExtras) this.#recordIds(chunk);
    if (!isObject(chunk["usage"])) return "forward";
    const usage = readUsage(chunk["usage"]);
    if (usage !== null) {
      this.partialUsage = usage;
      this.#figuresEnd = end;
      this.#areFiguresOutdated = false;
    }
    this.extras = readExtras(chunk);
    const holdsNothingElse = Array.isArray(chunk["choices"]) && chunk["choices"].length === 0;
    return holdsNothingElse && this.#hideUsage ? "drop" : "forward";
  }

  /** A spoken answer comes in many chunks, and each may say its id. */
  #recordIds(chunk: JsonObject): void {
    const ids = givenIds(chunk).filter((id) => !this.given.includes(id));
    if (ids.length > 0) this.given = [...this.given, ...ids];
  }

  /** A provider that has told why it finished has finished, even if it forgot to say `[DONE]`. */
  override missingTerminal(): string | null {
    this.readUnread();
    return this.#finished ? "data: [DONE]\n\n" : null;
  }

  protected producedBy(chunk: JsonObject): string {
    let text = "";
    if (!Array.isArray(chunk["choices"])) return text;
    for (const choice of chunk["choices"]) {
      if (!isObject(choice)) continue;
      if (typeof choice["finish_reason"] === "string") this.#finished = true;
      if (isObject(choice["delta"])) text += deltaText(choice["delta"]);
    }
    return text;
  }
}

function deltaText(delta: JsonObject): string {
  let text = strings(delta, ["content", "reasoning_content", "reasoning", "refusal"]);
  if (!Array.isArray(delta["tool_calls"])) return text;
  for (const call of delta["tool_calls"]) {
    if (!isObject(call)) continue;
    const made = isObject(call["function"]) ? call["function"] : call["custom"];
    if (isObject(made)) text += strings(made, ["name", "arguments", "input"]);
  }
  return text;
}

function strings(from: JsonObject, names: readonly string[]): string {
  let text = "";
  for (const name of names) {
    const value = from[name];
    if (typeof value === "string") text += value;
  }
  return text;
}

/** With `include_usage` every chunk says `"usage":null`; only an object is worth a closer look. */
function firstFigures(events: Buffer): number {
  for (let at = events.indexOf(usageMark); at >= 0; at = events.indexOf(usageMark, at + usageMark.length)) {
    let next = at + usageMark.length;
    while (events[next] === space || events[next] === colon) next += 1;
    if (events[next] === openBrace) return at;
  }
  return none;
}
