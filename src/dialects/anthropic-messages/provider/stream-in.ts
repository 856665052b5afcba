import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReaderOptions } from "../../contract/provider-dialect.ts";
import { cutShort, malformedResponse } from "../../errors/failure.ts";
import { BlockEmitter, functionCall, type OpenBlock, usageEvent } from "../../ir/blocks.ts";
import type { IrBlockHead, IrCitation, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { isZero, numberOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { streamedText, writtenText } from "../../provider-response/produced.ts";
import { StreamReader } from "../../provider-response/stream-reader.ts";
import { CallCounter } from "../../usage/extra-usage.ts";
import { readCitations } from "../citations.ts";
import { readFinish } from "../finish.ts";
import { issuedIdsOfEvent } from "./issued-ids.ts";
import { StreamUsage } from "./stream-usage.ts";
import { countBlock, encryptedChars, extrasOf } from "./usage-in.ts";

interface ReadBlock {
  readonly block: OpenBlock;
  signature: ReasoningSignature | null;
  readonly citations: IrCitation[];
}

/** Events that can report usage, calls of hosted tools or ids. */
const reporting: ReadonlySet<string> = new Set(["message_start", "content_block_start", "message_delta"]);

/** Reads Messages events, which end with `message_stop`. */
export class MessagesStreamReader extends StreamReader {
  protected override readonly eventName = "a Messages event";
  /** By the provider's index, except blocks of hosted tools. */
  readonly #open = new Map<number, ReadBlock>();
  readonly #blocks = new BlockEmitter(this.emit);
  readonly #isStored: boolean;
  #begun = false;
  readonly #usage = new StreamUsage();
  readonly #calls = new CallCounter();
  #issued: readonly string[] = [];
  #finish: IrFinish | null = null;

  constructor({ target, isStored = false }: ReaderOptions) {
    super(target !== null);
    this.#isStored = isStored;
  }

  protected readEvent(event: JsonObject, name: string): void {
    const type = stringOf(event["type"]) ?? name;
    if (type === "error" || !isZero(event["error"])) {
      this.emit({ type: "failure", failure: this.#usage.failure(event) });
      return;
    }
    const { content_block: block, delta } = event;
    this.emitWritten(writtenIn(type, event), encryptedChars(block) + encryptedChars(delta));
    if (type === "message_delta") this.#finish = readFinish(objectOf(delta) ?? {}) ?? this.#finish;
    const isLast = this.#finish !== null;
    if (isLast || type === "content_block_stop") this.emit({ type: "text_end", isLast });
    const hasBegunBefore = this.#begun;
    if (type === "message_start" && !hasBegunBefore) this.#start(objectOf(event["message"]) ?? {});
    if (reporting.has(type)) this.#readReport(type, event);
    if (this.isTranslated) this.#readAnswer(type, event, hasBegunBefore);
    if (type === "message_stop") this.#end();
  }

  protected readEnd(): void {
    if (this.#finish === null) throw cutShort();
    this.#end();
  }

  #readReport(type: string, event: JsonObject): void {
    if (type === "message_delta") {
      const usage = this.#usage.update(event["usage"]);
      if (usage !== null) this.emit(usageEvent(usage, this.#finish !== null));
    }
    if (type === "content_block_start" && isObject(event["content_block"]))
      countBlock(event["content_block"], this.#calls);
    this.emit({ type: "extras", extras: extrasOf(this.#usage.reported, this.#calls) });
    const ids = issuedIdsOfEvent(event, this.#isStored);
    if (ids.length === 0) return;
    this.#issued = [...this.#issued, ...ids];
    this.emit({ type: "issued", ids: this.#issued });
  }

  #readAnswer(type: string, event: JsonObject, hasBegunBefore: boolean): void {
    const index = numberOf(event["index"]) ?? 0;
    if (type === "content_block_delta") this.#delta(index, objectOf(event["delta"]) ?? {});
    else if (type === "content_block_start") this.#startBlock(index, objectOf(event["content_block"]) ?? {});
    else if (type === "content_block_stop") this.#stop(index);
    else if (type === "message_start" && hasBegunBefore) throw malformedResponse("a second message_start");
  }

  #start(message: JsonObject): void {
    this.#begun = true;
    this.emit({ type: "start", usage: this.#usage.begin(message["usage"]) });
    const tier = stringOf(this.#usage.reported["service_tier"]);
    if (tier !== null) this.emit({ type: "service_tier", tier: tier === "standard" ? "default" : tier });
  }

  #startBlock(index: number, block: JsonObject): void {
    const head = headOf(block);
    if (head === null) return;
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

  #end(): void {
    for (const [index] of this.#open) this.#stop(index);
    if (this.#finish !== null) this.emit({ type: "finish", finish: this.#finish });
    else if (this.isTranslated) throw cutShort();
    this.emit({ type: "end" });
  }
}

/** Text that the model wrote in an event. Some servers send content in the first one, or all of it. */
function writtenIn(type: string, event: JsonObject): string {
  if (type === "content_block_start") return startText(event["content_block"]);
  if (type === "message_start") return writtenText(objectOf(event["message"])?.["content"]);
  const delta = event["delta"];
  if (type !== "content_block_delta" || !isObject(delta)) return streamedText(event);
  const output = delta["text"] ?? delta["thinking"] ?? delta["partial_json"] ?? delta["content"];
  return typeof output === "string" ? output : streamedText(event);
}

/** Anthropic's blocks begin with no more than a name. The results of its tools are not the model's text. */
function startText(block: Json | undefined): string {
  if (!isObject(block)) return "";
  const { type, name, text, thinking, content } = block;
  const output = name ?? text ?? thinking ?? (type === "compaction" ? content : null);
  return (stringOf(output) ?? "") + initialInput(block);
}

function textOf({ text, partial_json: json, thinking }: JsonObject): string {
  return stringOf(text) ?? stringOf(json) ?? stringOf(thinking) ?? "";
}

/** Null for blocks of hosted tools: clients of other dialects cannot request them. */
export function headOf(block: JsonObject): IrBlockHead | null {
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
  return initialInput(block) || (stringOf(block["text"]) ?? stringOf(block["thinking"]) ?? "");
}

function initialInput({ input }: JsonObject): string {
  return isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : "";
}
