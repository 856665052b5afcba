import { nothingReported, type ReportedExtras } from "../../../base/extra-usage.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { reportedBy, reportedFailure } from "../../errors/failure.ts";
import { listOf, objectOf } from "../../json/json-fields.ts";
import { writtenText } from "../../produced.ts";
import type { ScannerOptions } from "../../provider-dialect.ts";
import type { RawEvent } from "../../sse/raw-events.ts";
import { type EventAction, marksOf, type ScanPosition, StreamScanner } from "../../sse/stream-scanner.ts";
import { CallCounter, reportedTogether } from "../../usage/extra-usage.ts";
import { SealedItems } from "./event-in.ts";
import { givenIds } from "./given-ids.ts";
import { countItem, figures, readExtras, readUsage } from "./usage-in.ts";

const marks = marksOf('"error"', '"response.completed"', '"response.incomplete"', '"response.failed"');
const marksOfExtras = [...marks, ...marksOf('"response.created"', '"response.output_item.done"')];

/** Responses streams end with one of three events that contain the whole response, usage included. */
export class ResponsesScanner extends StreamScanner {
  /** Figures come with the end alone. */
  protected readonly hasFinished = true;
  readonly #calls = new CallCounter();
  #final: ReportedExtras | null = null;
  #sequence = 0;
  #responseId: string | null = null;
  /** By an item's index. */
  readonly #texts = new Map<Json | undefined, ItemText>();
  /** The items of a response that has ended without figures. */
  #output: readonly Json[] = [];
  readonly #sealed = new SealedItems();

  constructor({ readsExtras }: ScannerOptions) {
    super(readsExtras ? marksOfExtras : marks);
  }

  /** The last event has all extras, but for the calls if it has no items; before it, only the calls so far are known. */
  get extras(): ReportedExtras | null {
    if (this.#final === null && this.#calls.isEmpty) return null;
    return reportedTogether(this.#calls.report(), this.#final ?? nothingReported);
  }

  /** The SDK's validator requires a failure to continue the stream's numbers and to have the response's id. */
  override get position(): ScanPosition {
    this.readUnread();
    return { ...super.position, sequenceNumber: this.#sequence, responseId: this.#responseId };
  }

  protected actionFor(raw: RawEvent, event: JsonObject | null): EventAction {
    switch (event?.["type"]) {
      case "response.failed":
        this.failure = reportedFailure(isObject(event["response"]) ? event["response"] : event, figures);
        this.#readResponse(raw, event);
        return "stop";
      case "response.completed":
      case "response.incomplete":
        this.#readResponse(raw, event);
        return "hold";
      case "response.output_item.done":
        if (isObject(event["item"])) countItem(event["item"], this.#calls);
        // A call is charged, whether or not text follows it.
        if (!this.#calls.isEmpty) this.started = true;
        return "forward";
      case "response.created":
        if (isObject(event["response"])) this.given = givenIds(event["response"]);
        return "forward";
      case "error":
        this.failure = reportedFailure(event, figures);
        return "stop";
      default:
        return "forward";
    }
  }

  #readResponse(raw: RawEvent, event: JsonObject): void {
    const response = event["response"];
    if (!isObject(response)) return;
    this.given = givenIds(response);
    this.#final = readExtras(response);
    const usage = this.failure === null ? readUsage(response["usage"]) : reportedBy(this.failure);
    if (usage === null) this.#output = listOf(response["output"]);
    else this.takeFigures(usage, raw);
  }

  protected producedBy(event: JsonObject): string | null {
    const type = event["type"];
    if (typeof type !== "string") return null;
    if (typeof event["sequence_number"] === "number") this.#sequence = event["sequence_number"] + 1;
    if (type === "response.created" && isObject(event["response"])) {
      const id = event["response"]["id"];
      if (typeof id === "string") this.#responseId = id;
      // The last event may have been read before this one, and has more ids.
      if (this.given.length === 0) this.given = givenIds(event["response"]);
    }
    if (type.endsWith(".delta")) return this.#deltaText(event);
    if (type === "response.output_item.done") return this.#itemText(event);
    if (type.endsWith(".done")) return this.#wholeText(event);
    if (type !== "response.output_item.added") return null;
    return this.#textOf(event["output_index"]).addName(event["item"]);
  }

  protected sealedIn(event: JsonObject): number {
    return this.#sealed.charsIn(event);
  }

  protected endsText({ type }: JsonObject): boolean {
    return typeof type === "string" && type.endsWith(".done");
  }

  override takeProduced(): string {
    const text = super.takeProduced();
    const missing = this.#output.map((item, index) => {
      // Some servers number no events, or only some. Whatever came without a number is counted as one item.
      const isNumbered = this.#texts.has(index) || !this.#texts.has(undefined);
      return this.#missingItem("response", isNumbered ? index : undefined, item);
    });
    this.#output = [];
    return text + missing.join("");
  }

  #deltaText({ delta, output_index: index }: JsonObject): string | null {
    return typeof delta === "string" ? this.#textOf(index).add("delta", delta) : null;
  }

  /** Some servers send texts without deltas. */
  #wholeText({ text, refusal, arguments: args, input, output_index: index }: JsonObject): string {
    const whole = text ?? refusal ?? args ?? input;
    return typeof whole === "string" ? this.#textOf(index).add("whole", whole) : "";
  }

  /** Or items. */
  #itemText({ item, output_index: index }: JsonObject): string {
    return this.#missingItem("item", index, item);
  }

  /** What of an item has not come before, in another place. */
  #missingItem(source: TextSource, index: Json | undefined, item: Json | undefined): string {
    if (!isObject(item)) return "";
    const known = this.#textOf(index);
    return known.addName(item) + known.add(source, writtenText({ ...item, name: null }));
  }

  #textOf(index: Json | undefined): ItemText {
    const known = this.#texts.get(index) ?? new ItemText();
    this.#texts.set(index, known);
    return known;
  }
}

type TextSource = "delta" | "whole" | "item" | "response";

/** An item's text comes in up to four places, in some of them perhaps only in part. It is as long as in the one that has most of it. */
class ItemText {
  readonly #chars = { delta: 0, whole: 0, item: 0, response: 0 };
  readonly #names = new Set<string>();
  #known = 0;

  /** Returns what is new. */
  add(source: TextSource, text: string): string {
    this.#chars[source] += text.length;
    const added = Math.max(0, this.#chars[source] - this.#known);
    this.#known += added;
    return text.slice(text.length - added);
  }

  /** The same for its name. */
  addName(item: Json | undefined): string {
    const name = objectOf(item)?.["name"];
    if (typeof name !== "string" || this.#names.has(name)) return "";
    this.#names.add(name);
    return name;
  }
}
