import { isObject, type JsonObject } from "../../../base/json.ts";
import { BlockEmitter, citing, type OpenBlock } from "../../ir/blocks.ts";
import type {
  FinishReason,
  IrBlockHead,
  IrCitation,
  IrEvent,
  IrFinish,
  IrRefusal,
  IrText,
  IrToolCall,
} from "../../ir/ir.ts";
import { listOf, nonEmpty, stringOf } from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";
import { readReasoning, signatureOf } from "../reasoning.ts";

/** The text of an item that a fragment belongs to. */
export type Channel = "text" | "refusal" | "summary" | "reasoning" | "input";

interface Part {
  readonly block: OpenBlock;
  /** Number of characters of the part's text that were emitted. */
  sentChars: number;
  citations: readonly IrCitation[];
}

/** The blocks of one stream, and which kinds there were. */
export class Blocks extends BlockEmitter {
  readonly #emit: (event: IrEvent) => void;
  called = false;
  refused = false;

  constructor(emit: (event: IrEvent) => void) {
    super(emit);
    this.#emit = emit;
  }

  override begin(head: IrBlockHead): OpenBlock {
    if (head.type === "tool_call") this.called = true;
    if (head.type === "refusal") this.refused = true;
    return super.begin(head);
  }

  beginPart({ index }: OpenBlock): void {
    this.#emit({ type: "part", index });
  }
}

/**
 * Reads one output item. Providers may omit the announcement, the fragments, or everything but the finished item.
 * Whatever arrives first opens the block, and of repeated text only what is new is emitted.
 */
export class IncomingItem {
  readonly #blocks: Blocks;
  readonly #parts = new Map<number, Part>();
  /** Fragments of a call whose name is not known yet. */
  #held = "";
  #reasoning: OpenBlock | null = null;
  /** The first channel that has reasoning; the other channel repeats it in another form. */
  #reasoningChannel: Channel | null = null;
  type: string | null = null;
  callId: string | null = null;
  finished = false;

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
  }

  /** The item's type is known, and a call's name, so that it can begin. */
  announce(item: JsonObject): void {
    this.type = stringOf(item["type"]);
    const call = readCall(item);
    if (call === null || this.#parts.has(0)) return;
    this.callId = call.id;
    const { input: _, ...head } = call;
    const part = { block: this.#blocks.begin(head), sentChars: 0, citations: [] };
    this.#parts.set(0, part);
    this.#send(part, this.#held);
    this.#held = "";
  }

  push(channel: Channel, at: number, text: string): void {
    if (text === "" || this.finished || this.#isRepetition(channel)) return;
    const part = this.#parts.get(at) ?? this.#open(channel, at);
    if (part === null) this.#held += text;
    else this.#send(part, text);
  }

  /** Takes the whole text of a part; emits only what has not been emitted yet. */
  complete(channel: Channel, at: number, whole: string): void {
    const sent = this.#parts.get(at)?.sentChars ?? this.#held.length;
    this.push(channel, at, whole.slice(sent));
  }

  /** A citation needs text, so a part without text has none. */
  cite(at: number, citations: readonly IrCitation[]): void {
    const part = this.#parts.get(at);
    if (part !== undefined) part.citations = [...part.citations, ...citations];
  }

  finish(item: JsonObject): void {
    if (this.finished) return;
    this.announce(item);
    for (const { at, block } of readMessageParts(item)) {
      if (this.type !== "message") continue;
      this.complete(block.type, at, block.text);
      const part = this.#parts.get(at);
      if (part !== undefined && block.type === "text") part.citations = block.citations ?? part.citations;
    }
    const call = readCall(item);
    if (call !== null) this.complete("input", 0, call.input);
    if (this.type === "reasoning") this.#finishReasoning(item);
    else this.abandon();
  }

  /** Ends the open blocks; the provider sends no more of this item. */
  abandon(): void {
    if (this.finished) return;
    this.finished = true;
    if (this.#reasoning !== null) this.#blocks.end(this.#reasoning, null);
    else for (const part of this.#parts.values()) this.#blocks.end(part.block, null, part.citations);
  }

  #finishReasoning(item: JsonObject): void {
    for (const { parts, signature } of readReasoning(item)) {
      const channel = signature?.maker === "openai" && signature.raw ? "reasoning" : "summary";
      parts.forEach((text, at) => {
        this.complete(channel, at, text);
      });
      // Reasoning without visible text is kept for its signature.
      this.#reasoning ??= this.#blocks.begin({ type: "reasoning" });
    }
    this.finished = true;
    if (this.#reasoning !== null)
      this.#blocks.end(this.#reasoning, signatureOf(item, this.#reasoningChannel === "reasoning"));
  }

  #isRepetition(channel: Channel): boolean {
    const first = this.#reasoningChannel;
    return first !== null && channel !== first;
  }

  #open(channel: Channel, at: number): Part | null {
    if (channel === "input") return null;
    const part = { block: this.#blockFor(channel), sentChars: 0, citations: [] };
    this.#parts.set(at, part);
    return part;
  }

  /** All parts of a summary are one reasoning block; each part of a message is a separate block. */
  #blockFor(channel: Exclude<Channel, "input">): OpenBlock {
    if (channel === "text" || channel === "refusal") return this.#blocks.begin({ type: channel });
    this.#reasoningChannel = channel;
    if (this.#reasoning === null) this.#reasoning = this.#blocks.begin({ type: "reasoning" });
    else this.#blocks.beginPart(this.#reasoning);
    return this.#reasoning;
  }

  #send(part: Part, text: string): void {
    part.sentChars += text.length;
    this.#blocks.append(part.block, text);
  }
}

interface MessagePart {
  readonly at: number;
  readonly block: IrText | IrRefusal;
}

function readMessageParts(item: JsonObject): MessagePart[] {
  return listOf(item["content"]).flatMap((part, at): MessagePart[] => {
    if (!isObject(part)) return [];
    if (typeof part["refusal"] === "string")
      return [{ at, block: { type: "refusal", text: part["refusal"] } }];
    if (typeof part["text"] !== "string") return [];
    const citations = readCitations(part["annotations"]);
    return [{ at, block: { type: "text", text: part["text"], ...citing(citations) } }];
  });
}

/** Null for an item that is not a call, or a call whose name is not known yet. */
export function readCall(item: JsonObject): IrToolCall | null {
  const { type, name, call_id: id } = item;
  if (type !== "function_call" && type !== "custom_tool_call") return null;
  if (typeof name !== "string" || name === "") return null;
  const custom = type === "custom_tool_call";
  return {
    type: "tool_call",
    id: stringOf(id) ?? "",
    kind: custom ? "custom" : "function",
    namespace: nonEmpty(item["namespace"]),
    name,
    input: stringOf(custom ? item["input"] : item["arguments"]) ?? "",
  };
}

type ResponseKinds = { readonly called: boolean; readonly refused: boolean };

/** OpenAI reports only `completed`, so the reason depends on the contents of the response. */
export function readFinish(response: JsonObject, kinds: ResponseKinds): IrFinish {
  return { reason: finishReason(response, kinds), stopSequence: null, explanation: null };
}

function finishReason(response: JsonObject, { called, refused }: ResponseKinds): FinishReason {
  if (response["status"] === "incomplete") {
    const details = response["incomplete_details"];
    const filtered = isObject(details) && details["reason"] === "content_filter";
    return filtered ? "refusal" : "length";
  }
  if (called) return "tool_calls";
  return refused ? "refusal" : "stop";
}

export function readTier(response: JsonObject): string | null {
  return stringOf(response["service_tier"]);
}
