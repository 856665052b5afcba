import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported } from "../../../base/usage/usage.ts";
import type { ReaderOptions } from "../../contract/provider-dialect.ts";
import { cutShort, eventTooLarge, reportedFailure } from "../../errors/failure.ts";
import { isZero, listOf, numberOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";
import { StreamReader } from "../../provider-response/stream-reader.ts";
import { CallCounter, reportedTogether } from "../../usage/extra-usage.ts";
import { endedIds } from "../client/turn-items.ts";
import { issuedIds } from "../stored-items.ts";
import { EncryptedReasoning, ItemTexts, isReadable } from "./item-texts.ts";
import { Blocks, type Channel, IncomingItem, readFinish, readTier } from "./stream-items-in.ts";
import { countItem, readExtras, readUsage, usageReader } from "./usage-in.ts";

/** An event, and whether null is in the place of its largest parts. */
interface ResponsesEvent {
  readonly type: string;
  readonly json: JsonObject;
  readonly isCut: boolean;
}

interface TextEvent {
  readonly channel: Channel;
  readonly field: string;
}

/** Texts arrive in `.delta` events, and complete in one `.done` event, in a field of this name. */
const texts: Readonly<Record<string, TextEvent>> = {
  output_text: { channel: "text", field: "text" },
  refusal: { channel: "refusal", field: "refusal" },
  reasoning_summary_text: { channel: "summary", field: "text" },
  reasoning_text: { channel: "reasoning", field: "text" },
  function_call_arguments: { channel: "input", field: "arguments" },
  custom_tool_call_input: { channel: "input", field: "input" },
};

const fragments = new Map(Object.entries(texts).map(([name, text]) => [`response.${name}.delta`, text]));
const wholes = new Map(Object.entries(texts).map(([name, text]) => [`response.${name}.done`, text]));

/** Responses streams end with one of three events that contain the whole response, usage included. */
export class ResponsesStreamReader extends StreamReader {
  /** A large event mostly repeats what was streamed before, or has the probabilities of all tokens. */
  protected override readonly needsWhole = false;
  readonly #blocks = new Blocks(this.emit);
  /** In order of appearance; also by index and by id, if the provider sends them. */
  readonly #items = new Set<IncomingItem>();
  readonly #byIndex = new Map<number, IncomingItem>();
  readonly #byId = new Map<string, IncomingItem>();
  readonly #texts = new ItemTexts();
  readonly #reasoning = new EncryptedReasoning();
  readonly #calls = new CallCounter();
  /** The indexes of calls that were counted by a partial image, and have not ended. */
  readonly #drawings = new Set<Json | undefined>();
  readonly #isStored: boolean;
  #begun = false;
  #sequenceNumber = 0;
  #responseId: string | null = null;

  constructor({ target, isStored = true }: ReaderOptions) {
    super(target !== null);
    this.#isStored = isStored;
  }

  /** The SDK's validator requires a failure to continue the stream's numbers and to have the response's id. */
  override get position() {
    return { sequenceNumber: this.#sequenceNumber, responseId: this.#responseId };
  }

  protected readEvent(json: JsonObject, name: string, isCut: boolean): void {
    const event = { type: stringOf(json["type"]) ?? name, json, isCut };
    const { type } = event;
    if (type === "error" || (type === "" && !isZero(json["error"]))) {
      this.emit({ type: "failure", failure: reportedFailure(json, usageReader) });
      return;
    }
    if (!this.#begun) this.emit({ type: "start", usage: null });
    this.#begun = true;
    if (type === "response.failed") {
      this.#readFailed(responseOf(json));
      return;
    }
    this.#sequenceNumber = (numberOf(json["sequence_number"]) ?? this.#sequenceNumber - 1) + 1;
    this.emitWritten(this.#texts.writtenIn(type, json), this.#reasoning.charsIn(json));
    if (type.endsWith(".done")) this.emit({ type: "text_end", isLast: false });
    this.#readReport(type, json);
    if (this.isTranslated) this.#readAnswer(event);
    if (type === "response.completed" || type === "response.incomplete") this.emit({ type: "end" });
  }

  protected readEnd(): void {
    throw cutShort();
  }

  #readReport(type: string, json: JsonObject): void {
    switch (type) {
      case "response.created":
        this.#responseId = stringOf(objectOf(json["response"])?.["id"]) ?? this.#responseId;
        if (isObject(json["response"])) this.#issue(json["response"]);
        break;
      case "response.image_generation_call.partial_image":
        this.#countDrawing(json);
        break;
      case "response.output_item.done":
        if (!this.#drawings.delete(json["output_index"])) countItem(itemOf(json), this.#calls);
        this.#reportCalls();
        break;
      case "response.completed":
      case "response.incomplete":
        this.#readEnded(responseOf(json));
        break;
    }
  }

  /** A partial image differs little from the result, so the call counts from the first of them on. */
  #countDrawing({ output_index: index }: JsonObject): void {
    if (this.#drawings.has(index)) return;
    this.#drawings.add(index);
    this.#calls.add("image_generation");
    this.#reportCalls();
  }

  #reportCalls(): void {
    if (!this.#calls.isEmpty) this.emit({ type: "extras", extras: this.#calls.report() });
  }

  #readEnded(response: JsonObject): void {
    this.#issue(response, true);
    this.#reportExtras(response);
    const usage = readUsage(response["usage"]);
    if (usage !== null) this.emit({ type: "usage", usage });
    else this.emitWritten(this.#texts.missingIn(listOf(response["output"])), 0);
    const tier = readTier(response);
    if (tier !== null) this.emit({ type: "service_tier", tier });
  }

  #readFailed(response: JsonObject): void {
    this.#issue(response);
    this.#reportExtras(response);
    this.emit({ type: "failure", failure: reportedFailure(response, usageReader) });
  }

  /** The last event has all extras, except calls if it has no items. Before it, only the calls so far are known. */
  #reportExtras(response: JsonObject): void {
    const extras = reportedTogether(this.#calls.report(), readExtras(response));
    if (extras !== nothingReported) this.emit({ type: "extras", extras });
  }

  /** If it has no items, a response can lack some that were streamed before. */
  #issue(response: JsonObject, isWhole = false): void {
    const ended = isWhole && listOf(response["output"]).length > 0 ? endedIds(response) : null;
    this.emit({ type: "issued", ids: issuedIds(response, this.#isStored), ended });
  }

  /** Other events belong to hosted tools or repeat what these contain. */
  #readAnswer(event: ResponsesEvent): void {
    const { type, json } = event;
    const fragment = fragments.get(type);
    if (fragment !== undefined) {
      this.#item(json).push(fragment.channel, partOf(json), stringOf(json["delta"]) ?? "");
      return;
    }
    const whole = wholes.get(type);
    if (whole !== undefined) {
      this.#item(json).complete(whole.channel, partOf(json), stringOf(json[whole.field]) ?? "");
      return;
    }
    switch (type) {
      case "response.output_item.added":
        this.#item(json).announce(wholeItemOf(event));
        break;
      case "response.output_text.annotation.added":
        this.#item(json).cite(partOf(json), readCitations([json["annotation"] ?? null]));
        break;
      case "response.output_item.done":
        this.#item(json).finish(wholeItemOf(event));
        break;
      case "response.completed":
      case "response.incomplete":
        this.#finish(event);
        break;
    }
  }

  /** By index first, because some providers change an item's id during the stream. */
  #item(event: JsonObject): IncomingItem {
    const at = numberOf(event["output_index"]);
    const id = stringOf(event["item_id"]) ?? stringOf(itemOf(event)["id"]);
    const known =
      (at === null ? undefined : this.#byIndex.get(at)) ?? (id === null ? undefined : this.#byId.get(id));
    const item = known ?? new IncomingItem(this.#blocks);
    this.#items.add(item);
    if (at !== null) this.#byIndex.set(at, item);
    if (id !== null) this.#byId.set(id, item);
    return item;
  }

  /** The last event has the whole response, also what the provider did not stream. */
  #finish({ type, json, isCut }: ResponsesEvent): void {
    const response = responseOf(json);
    if (isCut && (response === json || !this.#hasItems(response["output"]))) throw eventTooLarge();
    objectsOf(response["output"]).forEach((item, at) => {
      (this.#find(item, at) ?? this.#item({ item })).finish(item);
    });
    for (const item of this.#items) item.abandon();
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    this.emit({ type: "finish", finish: readFinish({ ...response, status }, this.#blocks) });
  }

  /** Whether each item can be read from the last event, or has been before. */
  #hasItems(output: Json | undefined): boolean {
    if (!Array.isArray(output))
      return this.#items.size > 0 && this.#items.values().every((item) => item.finished);
    return output.every((item, at) => {
      const known = isObject(item) ? this.#find(item, at) : this.#byIndex.get(at);
      return isReadable(item) || known?.finished === true;
    });
  }

  #find(item: JsonObject, at: number): IncomingItem | undefined {
    const { id, type, call_id: callId } = item;
    const byId = typeof id === "string" ? this.#byId.get(id) : undefined;
    if (byId !== undefined) return byId;
    const byIndex = this.#byIndex.get(at);
    if (byIndex !== undefined && byIndex.type === type) return byIndex;
    if (typeof callId !== "string" || callId === "") return undefined;
    return this.#items.values().find((known) => known.callId === callId);
  }
}

function partOf(event: JsonObject): number {
  return numberOf(event["content_index"]) ?? numberOf(event["summary_index"]) ?? 0;
}

function itemOf(event: JsonObject): JsonObject {
  return objectOf(event["item"]) ?? {};
}

function wholeItemOf({ json, isCut }: ResponsesEvent): JsonObject {
  if (isCut && !isReadable(json["item"] ?? null)) throw eventTooLarge();
  return itemOf(json);
}

function responseOf(event: JsonObject): JsonObject {
  return objectOf(event["response"]) ?? event;
}
