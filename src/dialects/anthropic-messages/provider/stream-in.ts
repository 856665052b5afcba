import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedExtras } from "../../../base/usage/usage.ts";
import { cutShort, malformedAnswer } from "../../errors/failure.ts";
import { BlockEmitter, functionCall, type OpenBlock, usageEvent } from "../../ir/answer-parts.ts";
import type { IrBlockHead, IrCitation, IrEvent, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { numberOf, objectOf, stringOf } from "../../json/json-fields.ts";
import type { StreamReader } from "../../provider-dialect.ts";
import { isDoneMark } from "../../sse/data-field.ts";
import { wholeObjectIn } from "../../sse/parse-event.ts";
import type { SseFrame } from "../../sse/sse.ts";
import { CallCounter } from "../../usage/extra-usage.ts";
import { readCitations } from "../citations.ts";
import { readFinish } from "../finish.ts";
import { StreamUsage } from "./stream-usage.ts";
import { countBlock, extrasOf, sealedChars } from "./usage-in.ts";

interface ReadBlock {
  readonly block: OpenBlock;
  signature: ReasoningSignature | null;
  readonly citations: IrCitation[];
}

/** Reads Messages events. */
export class MessagesStreamReader implements StreamReader {
  readonly #emit: (event: IrEvent) => void;
  /** By the provider's index, without blocks of hosted tools. */
  readonly #open = new Map<number, ReadBlock>();
  readonly #blocks: BlockEmitter;
  #begun = false;
  readonly #usage = new StreamUsage();
  readonly #calls = new CallCounter();
  #finish: IrFinish | null = null;
  sealedChars = 0;
  ended = false;

  constructor(emit: (event: IrEvent) => void) {
    this.#emit = emit;
    this.#blocks = new BlockEmitter(emit);
  }

  push(frame: SseFrame): void {
    if (this.ended || isDoneMark(frame.data)) return;
    const data = wholeObjectIn(frame, "a Messages event that is not a JSON object");
    const type = stringOf(data["type"]) ?? frame.event;
    if (type === "error" || isObject(data["error"])) throw this.#usage.failure(data);
    this.#read(type, data);
  }

  end(): void {
    if (this.ended) return;
    if (this.#finish === null) throw cutShort();
    for (const [index] of this.#open) this.#stop(index);
    this.#emit({ type: "finish", finish: this.#finish });
    this.ended = true;
  }

  get extras(): ReportedExtras {
    return extrasOf(this.#usage.figures, this.#calls);
  }

  get hasEndedText(): boolean {
    return this.#finish !== null;
  }

  #read(type: string, data: JsonObject): void {
    const index = numberOf(data["index"]) ?? 0;
    switch (type) {
      case "message_start":
        this.#start(objectOf(data["message"]) ?? {});
        break;
      case "content_block_start":
        this.#startBlock(index, objectOf(data["content_block"]) ?? {});
        break;
      case "content_block_delta":
        this.#delta(index, objectOf(data["delta"]) ?? {});
        break;
      case "content_block_stop":
        this.#stop(index);
        break;
      case "message_delta":
        this.#messageDelta(data);
        break;
      case "message_stop":
        this.end();
        break;
    }
  }

  #start(message: JsonObject): void {
    if (this.#begun) throw malformedAnswer("a second message_start");
    this.#begun = true;
    this.#emit({ type: "start", usage: this.#usage.begin(message["usage"]) });
    const tier = stringOf(this.#usage.figures["service_tier"]);
    if (tier !== null) this.#emit({ type: "service_tier", tier: tier === "standard" ? "default" : tier });
  }

  #startBlock(index: number, block: JsonObject): void {
    const head = headOf(block);
    if (head === null) {
      countBlock(block, this.#calls);
      return;
    }
    this.sealedChars += sealedChars(block);
    const isRedacted = block["type"] === "redacted_thinking";
    const open: ReadBlock = {
      block: this.#blocks.begin(head),
      signature: isRedacted ? { maker: "anthropic-redacted", data: stringOf(block["data"]) ?? "" } : null,
      citations: readCitations(block["citations"]),
    };
    this.#open.set(index, open);
    this.#blocks.append(open.block, initialText(block));
  }

  #delta(index: number, delta: JsonObject): void {
    const open = this.#open.get(index);
    if (open === undefined) return;
    const { signature, citation } = delta;
    this.sealedChars += sealedChars(delta);
    if (typeof signature === "string") open.signature = { maker: "anthropic", signature };
    if (isObject(citation)) open.citations.push(...readCitations([citation]));
    this.#blocks.append(open.block, textOf(delta));
  }

  #stop(index: number): void {
    const open = this.#open.get(index);
    if (open === undefined) return;
    this.#open.delete(index);
    this.#blocks.end(open.block, open.signature, open.citations);
  }

  #messageDelta(data: JsonObject): void {
    this.#finish = readFinish(objectOf(data["delta"]) ?? {}) ?? this.#finish;
    const usage = this.#usage.update(data["usage"]);
    if (usage !== null) this.#emit(usageEvent(usage, this.#finish !== null));
  }
}

function textOf({ text, partial_json: json, thinking }: JsonObject): string {
  return stringOf(text) ?? stringOf(json) ?? stringOf(thinking) ?? "";
}

function headOf(block: JsonObject): IrBlockHead | null {
  switch (block["type"]) {
    case "text":
      return { type: "text" };
    case "thinking":
    case "redacted_thinking":
      return { type: "reasoning" };
    case "tool_use":
      return functionCall(block["id"], block["name"]);
    default:
      return null;
  }
}

/** Anthropic starts blocks empty; some compatible servers send all their content here. */
function initialText(block: JsonObject): string {
  const input: Json | undefined = block["input"];
  if (isObject(input) && Object.keys(input).length > 0) return JSON.stringify(input);
  return stringOf(block["text"]) ?? stringOf(block["thinking"]) ?? "";
}
