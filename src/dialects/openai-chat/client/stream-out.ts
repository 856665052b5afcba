import type { GatewayError } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../base/usage/usage.ts";
import type { StreamWriter, WriterContext } from "../../contract/client-dialect.ts";
import type { IrBlockHead, IrCitation, IrEvent, IrFinish } from "../../ir/ir.ts";
import { chatAnnotations } from "../../openai/citations.ts";
import { openAiErrors } from "../../openai/error-format.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { dataFrame, keepaliveComment } from "../../sse/sse.ts";
import { writeFinish } from "../finish.ts";
import { wantsUsage } from "../provider/usage-in.ts";
import { signatureFor } from "../tool-call.ts";
import { writeCall, writeUsage } from "./response-out.ts";

const textFields = { text: "content", reasoning: "reasoning_content", refusal: "refusal" } as const;

/** Writes chat chunks. */
export class ChatStreamWriter implements StreamWriter {
  readonly #call: WriterContext;
  /** The start of every chunk, up to its choices. */
  readonly #head: string;
  /** The start of a chunk up to its delta. */
  readonly #opening: string;
  readonly #wantsUsage: boolean;
  /** The field of the open block's text; null while a call is open. */
  #textField: (typeof textFields)[keyof typeof textFields] | null = null;
  #calls = 0;
  /** Whether the last call is of a custom tool. */
  #isCustom = false;
  #finish: IrFinish | null = null;
  #usage: Usage | null = null;
  #declined = false;
  /** Position in the content at which the open text starts; null while no text block is open. */
  #textOffset: number | null = null;
  #contentLength = 0;
  /** Written in one chunk, as OpenAI does: its clients replace the list of an earlier chunk, or fail. */
  readonly #annotations: JsonObject[] = [];
  /** The signature of the next call. */
  #signature: string | null = null;

  constructor(call: WriterContext) {
    this.#call = call;
    const head = JSON.stringify({
      id: call.mint("chatcmpl-"),
      object: "chat.completion.chunk",
      created: call.source.nowSeconds,
      model: call.source.model,
    });
    this.#head = head.slice(0, -1);
    this.#opening = `data: ${this.#head},"choices":[{"index":0,"delta":`;
    this.#wantsUsage = wantsUsage(call.source.body);
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
        this.#usage = event.usage;
        return this.#chunk({ role: "assistant", content: "" });
      case "block_start":
        return this.#begin(event.block);
      case "delta":
        return this.#delta(event.text);
      case "part":
        return this.#delta(partSeparator);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        this.#finish = event.finish;
        return "";
      case "block_end":
        if (event.signature !== null)
          this.#signature = signatureFor(event.signature, this.#call) ?? this.#signature;
        this.#cite(event.citations ?? []);
        return "";
      case "service_tier":
        return "";
    }
  }

  terminal(): string {
    const finish = this.#finish;
    const explanation = this.#declined ? null : (finish?.explanation ?? null);
    const cited = this.#annotations.length === 0 ? "" : this.#chunk({ annotations: this.#annotations });
    const refusal = explanation === null ? "" : this.#chunk({ refusal: explanation });
    const last = this.#chunk({}, finish === null ? null : writeFinish(finish));
    return `${cited}${refusal}${last}${this.#usageChunk()}data: [DONE]\n\n`;
  }

  failure(error: GatewayError, requestId: string): string {
    return inBandError(error, requestId);
  }

  heartbeat(): string {
    return keepaliveComment;
  }

  #begin(head: IrBlockHead): string {
    this.#textOffset = head.type === "text" ? this.#contentLength : null;
    if (head.type !== "tool_call") {
      this.#textField = textFields[head.type];
      if (head.type === "refusal") this.#declined = true;
      return "";
    }
    this.#textField = null;
    this.#isCustom = head.kind === "custom";
    const called = writeCall(head, "", this.#signature);
    this.#signature = null;
    this.#calls += 1;
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, ...called }] });
  }

  #delta(text: string): string {
    if (this.#textField !== null) {
      if (this.#textOffset !== null) this.#contentLength += text.length;
      // Nearly all events of a stream are text deltas, so only their text is serialized.
      return `${this.#opening}{"${this.#textField}":${JSON.stringify(text)}}${this.#closing("null")}`;
    }
    const fragment: JsonObject = this.#isCustom
      ? { custom: { input: text } }
      : { function: { arguments: text } };
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, ...fragment }] });
  }

  #cite(citations: readonly IrCitation[]): void {
    const offset = this.#textOffset;
    if (offset === null || citations.length === 0) return;
    const text = { offset, length: this.#contentLength - offset };
    this.#annotations.push(...chatAnnotations(citations, text));
  }

  #chunk(delta: JsonObject, finish: Json = null): string {
    return this.#opening + JSON.stringify(delta) + this.#closing(JSON.stringify(finish));
  }

  /** The end of a chunk, after its delta. */
  #closing(finish: string): string {
    const usage = this.#wantsUsage ? ',"usage":null' : "";
    return `,"logprobs":null,"finish_reason":${finish}}]${usage}}\n\n`;
  }

  #usageChunk(): string {
    if (!this.#wantsUsage) return "";
    return dataFrame(`${this.#head},"choices":[],"usage":${JSON.stringify(writeUsage(this.#usage))}}`);
  }
}

export function inBandError(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(openAiErrors.body(error, requestId))}\n\n`;
}
