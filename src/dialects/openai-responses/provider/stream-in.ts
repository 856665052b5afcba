import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedExtras } from "../../../base/usage/usage.ts";
import { cutShort, eventTooLarge, reportedFailure } from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { numberOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";
import type { StreamReader } from "../../provider-dialect.ts";
import { isDoneMark } from "../../sse/data-field.ts";
import type { SseFrame } from "../../sse/sse.ts";
import { CallCounter, reportedTogether } from "../../usage/extra-usage.ts";
import { isReadable, type ResponsesEvent, readEvent, SealedItems } from "./event-in.ts";
import { readFinish, readTier } from "./items-in.ts";
import { Blocks, type Channel, IncomingItem } from "./stream-items-in.ts";
import { countItem, figures, readExtras, readUsage } from "./usage-in.ts";

interface TextEvent {
  readonly channel: Channel;
  readonly field: string;
}

/** Texts come in events `.delta`, and whole in one `.done`, in a field of this name. */
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

export class ResponsesStreamReader implements StreamReader {
  readonly #emit: (event: IrEvent) => void;
  readonly #blocks: Blocks;
  /** In order of appearance; also by index and by id, if the provider sends them. */
  readonly #items = new Set<IncomingItem>();
  readonly #byIndex = new Map<number, IncomingItem>();
  readonly #byId = new Map<string, IncomingItem>();
  #begun = false;
  readonly #sealed = new SealedItems();
  readonly #calls = new CallCounter();
  #final: ReportedExtras = nothingReported;
  sealedChars = 0;
  hasEndedText = false;
  ended = false;

  constructor(emit: (event: IrEvent) => void) {
    this.#emit = emit;
    this.#blocks = new Blocks(emit);
  }

  /** The last event has all of them, unless it has no items. */
  get extras(): ReportedExtras {
    return reportedTogether(this.#calls.report(), this.#final);
  }

  push(frame: SseFrame): void {
    if (this.ended || isDoneMark(frame.data)) return;
    const event = readEvent(frame);
    const { type, json } = event;
    if (type === "error" || (type === "" && json["error"] !== undefined))
      throw reportedFailure(json, figures);
    if (!this.#begun) {
      this.#begun = true;
      this.#emit({ type: "start", usage: null });
    }
    this.#read(event);
  }

  end(): void {
    if (!this.ended) throw cutShort();
  }

  /** Other events belong to hosted tools or repeat what these contain. */
  #read(event: ResponsesEvent): void {
    const { type, json } = event;
    this.hasEndedText = type.endsWith(".done") || (this.hasEndedText && !type.endsWith(".delta"));
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
        this.sealedChars += this.#sealed.charsIn(json);
        this.#item(json).announce(wholeItemOf(event));
        break;
      case "response.output_text.annotation.added":
        this.#item(json).cite(partOf(json), readCitations([json["annotation"] ?? null]));
        break;
      case "response.output_item.done":
        this.sealedChars += this.#sealed.charsIn(json);
        countItem(itemOf(json), this.#calls);
        this.#item(json).finish(wholeItemOf(event));
        break;
      case "response.completed":
      case "response.incomplete":
        this.#finish(event);
        break;
      case "response.failed":
        throw reportedFailure(responseOf(json), figures);
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
    this.#final = readExtras(response);
    const usage = readUsage(response["usage"]);
    if (usage !== null) this.#emit({ type: "usage", usage });
    const tier = readTier(response);
    if (tier !== null) this.#emit({ type: "service_tier", tier });
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    this.#emit({ type: "finish", finish: readFinish({ ...response, status }, this.#blocks) });
    this.ended = true;
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
