import { assert } from "../../../base/assert.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { IrCitation, ReasoningSignature } from "../../ir/ir.ts";
import { responsesAnnotations } from "../../openai/citations.ts";
import { namedFrame } from "../../sse/sse.ts";
import { summaryPart } from "../reasoning.ts";
import {
  type AnswerPart,
  answerPart,
  type CallHead,
  callItem,
  completeInput,
  type ItemStatus,
  messageItem,
  reasoningItem,
} from "./items-out.ts";

/** Writes the events of one stream, numbered from 0. */
export class Frames {
  #next = 0;

  /** `fields` is the inside of a JSON object, concatenated because most frames contain one short text. */
  write(type: string, fields: string): string {
    return namedFrame(type, `{"type":"${type}","sequence_number":${this.takeNumber()},${fields}}`);
  }

  takeNumber(): number {
    const number = this.#next;
    this.#next += 1;
    return number;
  }
}

/** An output item while it is being written. `part` counts the blocks of the stream that went into it. */
export abstract class StreamItem {
  /** The whole item, once it is done. */
  json = "";
  protected readonly frames: Frames;
  protected readonly id: string;
  protected readonly outputIndex: number;
  /** The fields that all events of the item have in common. */
  protected readonly address: string;

  constructor(frames: Frames, id: string, outputIndex: number) {
    this.frames = frames;
    this.id = id;
    this.outputIndex = outputIndex;
    this.address = `"item_id":${JSON.stringify(id)},"output_index":${outputIndex}`;
  }

  begin(): string {
    return this.#lifecycle("response.output_item.added", JSON.stringify(this.item("in_progress")));
  }

  /** The last event of the item. */
  done(status: ItemStatus): string {
    this.json = this.itemJson(status);
    return this.#lifecycle("response.output_item.done", this.json);
  }

  protected itemJson(status: ItemStatus): string {
    return JSON.stringify(this.item(status));
  }

  abstract delta(part: number, text: string): string;
  abstract end(part: number, signature: ReasoningSignature | null, citations: readonly IrCitation[]): string;
  protected abstract item(status: ItemStatus): JsonObject;

  #lifecycle(type: string, item: string): string {
    return this.frames.write(type, `"output_index":${this.outputIndex},"item":${item}`);
  }
}

interface GrowingPart {
  readonly type: "text" | "refusal";
  text: string;
  citations?: readonly IrCitation[];
  /** The item at its start, and complete once it has ended. */
  json: string;
}

const partEvents = {
  text: { type: "response.output_text", whole: "text", more: ',"logprobs":[]' },
  refusal: { type: "response.refusal", whole: "refusal", more: "" },
} as const;

export class MessageStreamItem extends StreamItem {
  readonly #parts: GrowingPart[] = [];

  /** The index that the next part gets. */
  get nextPart(): number {
    return this.#parts.length;
  }

  beginPart(type: AnswerPart["type"]): string {
    const part: GrowingPart = { type, text: "", json: "" };
    this.#parts.push(part);
    part.json = JSON.stringify(answerPart(part));
    return this.#partEvent("response.content_part.added", this.#parts.length - 1, part);
  }

  override delta(at: number, text: string): string {
    const part = this.#part(at);
    part.text += text;
    const { type, more } = partEvents[part.type];
    const delta = `${this.#partAddress(at)},"delta":${JSON.stringify(text)}${more}`;
    return this.frames.write(`${type}.delta`, delta);
  }

  override end(at: number, _signature: ReasoningSignature | null, citations: readonly IrCitation[]): string {
    const part = this.#part(at);
    const cited = this.#cite(at, part, citations);
    const { type, whole, more } = partEvents[part.type];
    const text = JSON.stringify(part.text);
    part.json = JSON.stringify(answerPart(part, "")).replace('""', () => text);
    const done = `${this.#partAddress(at)},"${whole}":${text}${more}`;
    const last = this.frames.write(`${type}.done`, done);
    return cited + last + this.#partEvent("response.content_part.done", at, part);
  }

  #cite(at: number, part: GrowingPart, citations: readonly IrCitation[]): string {
    if (part.type !== "text" || citations.length === 0) return "";
    part.citations = citations;
    const events = responsesAnnotations(citations, part.text.length).map((annotation, index) => {
      const fields = `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
      return this.frames.write("response.output_text.annotation.added", `${this.#partAddress(at)},${fields}`);
    });
    return events.join("");
  }

  protected override item(status: ItemStatus): JsonObject {
    return messageItem(this.id, status, []);
  }

  /** A text may be long, so it is serialized once, for all events that repeat it. */
  protected override itemJson(status: ItemStatus): string {
    const content = this.#parts.map(({ json }) => json).join(",");
    return super.itemJson(status).replace("[]", () => `[${content}]`);
  }

  #part(at: number): GrowingPart {
    const part = this.#parts[at];
    assert(part !== undefined, "the part has not begun", at);
    return part;
  }

  #partEvent(type: string, at: number, { json }: GrowingPart): string {
    return this.frames.write(type, `${this.#partAddress(at)},"part":${json}`);
  }

  #partAddress(at: number): string {
    return `${this.address},"content_index":${at}`;
  }
}

export class ReasoningStreamItem extends StreamItem {
  readonly #parts: string[] = [];
  #signature: ReasoningSignature | null = null;

  override delta(_part: number, text: string): string {
    const opening = this.#parts.length === 0 ? this.beginPart() : "";
    const at = this.#parts.length - 1;
    this.#parts[at] = (this.#parts[at] ?? "") + text;
    const delta = `${this.#partAddress()},"delta":${JSON.stringify(text)}`;
    return opening + this.frames.write("response.reasoning_summary_text.delta", delta);
  }

  /** Completes the previous part, if any. */
  beginPart(): string {
    const closing = this.#endPart();
    this.#parts.push("");
    return closing + this.#partEvent("response.reasoning_summary_part.added", "");
  }

  override end(_part: number, signature: ReasoningSignature | null): string {
    this.#signature = signature;
    return this.#endPart();
  }

  protected override item(): JsonObject {
    return reasoningItem(this.id, this.#parts, this.#signature);
  }

  #endPart(): string {
    const text = this.#parts.at(-1);
    if (text === undefined) return "";
    const done = `${this.#partAddress()},"text":${JSON.stringify(text)}`;
    return (
      this.frames.write("response.reasoning_summary_text.done", done) +
      this.#partEvent("response.reasoning_summary_part.done", text)
    );
  }

  #partEvent(type: string, text: string): string {
    return this.frames.write(type, `${this.#partAddress()},"part":${JSON.stringify(summaryPart(text))}`);
  }

  #partAddress(): string {
    return `${this.address},"summary_index":${this.#parts.length - 1}`;
  }
}

const callEvents = {
  function: { type: "response.function_call_arguments", whole: "arguments" },
  custom: { type: "response.custom_tool_call_input", whole: "input" },
} as const;

export class CallStreamItem extends StreamItem {
  readonly #call: CallHead;
  #input = "";

  constructor(frames: Frames, id: string, outputIndex: number, call: CallHead) {
    super(frames, id, outputIndex);
    this.#call = call;
  }

  override delta(_part: number, text: string): string {
    this.#input += text;
    // A tool search has no events for its arguments; they are sent with the item.
    if (this.#call.kind === "tool_search") return "";
    const { type } = callEvents[this.#call.kind];
    return this.frames.write(`${type}.delta`, `${this.address},"delta":${JSON.stringify(text)}`);
  }

  override end(): string {
    const { kind } = this.#call;
    const missing = completeInput(kind, this.#input).slice(this.#input.length);
    const completion = missing === "" ? "" : this.delta(0, missing);
    if (kind === "tool_search") return completion;
    const { type, whole } = callEvents[kind];
    const name = kind === "function" ? `,"name":${JSON.stringify(this.#call.name)}` : "";
    const done = `${this.address}${name},"${whole}":${JSON.stringify(this.#input)}`;
    return completion + this.frames.write(`${type}.done`, done);
  }

  protected override item(status: ItemStatus): JsonObject {
    return callItem(this.id, status, this.#call, this.#input);
  }
}
