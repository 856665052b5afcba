import type { GatewayError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage.ts";
import { partSeparator } from "../carrier.ts";
import type { ClientCall, StreamWriter } from "../dialect.ts";
import { heartbeat, inBandError } from "../envelope.ts";
import type { IrBlockHead, IrEvent, IrFinish } from "../ir.ts";
import { objectOf } from "../json-fields.ts";
import { dataFrame } from "../sse.ts";
import { writeFinish } from "./finish.ts";
import { writeUsage } from "./usage-out.ts";

type TextField = "content" | "reasoning_content" | "refusal";

const textFields = { text: "content", reasoning: "reasoning_content", refusal: "refusal" } as const;

interface OpenCall {
  readonly index: number;
  readonly custom: boolean;
}

/** Writes chat chunks. Calls may interleave here, so nothing ever has to wait. */
export class ChatStreamWriter implements StreamWriter {
  /** Everything of a chunk before its choices; the same throughout the stream. */
  readonly #head: string;
  readonly #wantsUsage: boolean;
  readonly #fields = new Map<number, TextField>();
  readonly #calls = new Map<number, OpenCall>();
  #finish: IrFinish | null = null;
  #usage: Usage | null = null;
  #declined = false;

  constructor(call: ClientCall) {
    const head = JSON.stringify({
      id: call.mint("chatcmpl-"),
      object: "chat.completion.chunk",
      created: call.source.nowSeconds,
      model: call.source.model,
    });
    this.#head = head.slice(0, -1);
    this.#wantsUsage = asksForUsage(call);
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
        this.#usage = event.usage;
        return this.#chunk({ role: "assistant", content: "" });
      case "block_start":
        return this.#begin(event.index, event.block);
      case "delta":
        return this.#delta(event.index, event.text);
      case "part":
        return this.#delta(event.index, partSeparator);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        this.#finish = event.finish;
        return "";
      case "block_end":
      case "service_tier":
        return "";
    }
  }

  terminal(): string {
    const finish = this.#finish;
    const explanation = this.#declined ? null : (finish?.explanation ?? null);
    const refusal = explanation === null ? "" : this.#chunk({ refusal: explanation });
    const last = this.#chunk({}, finish === null ? null : writeFinish(finish));
    return `${refusal}${last}${this.#usageChunk()}data: [DONE]\n\n`;
  }

  failure(error: GatewayError, requestId: string): string {
    return inBandError("chat", error, requestId);
  }

  heartbeat(): string {
    return heartbeat("chat", true);
  }

  #begin(index: number, head: IrBlockHead): string {
    if (head.type !== "tool_call") {
      this.#fields.set(index, textFields[head.type]);
      if (head.type === "refusal") this.#declined = true;
      return "";
    }
    const call = { index: this.#calls.size, custom: head.kind === "custom" };
    this.#calls.set(index, call);
    const called: JsonObject = call.custom
      ? { type: "custom", custom: { name: head.name, input: "" } }
      : { type: "function", function: { name: head.name, arguments: "" } };
    return this.#chunk({ tool_calls: [{ index: call.index, id: head.id, ...called }] });
  }

  #delta(index: number, text: string): string {
    const call = this.#calls.get(index);
    // Nearly all events of a stream are these: only the text is worth a serialiser.
    if (call === undefined) {
      return this.#written(`{"${this.#fields.get(index) ?? "content"}":${JSON.stringify(text)}}`, "null");
    }
    const fragment: JsonObject = call.custom
      ? { custom: { input: text } }
      : { function: { arguments: text } };
    return this.#chunk({ tool_calls: [{ index: call.index, ...fragment }] });
  }

  #chunk(delta: JsonObject, finish: Json = null): string {
    return this.#written(JSON.stringify(delta), JSON.stringify(finish));
  }

  #written(delta: string, finish: string): string {
    const choice = `[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]`;
    return dataFrame(`${this.#head},"choices":${choice}${this.#wantsUsage ? ',"usage":null' : ""}}`);
  }

  #usageChunk(): string {
    if (!this.#wantsUsage) return "";
    return dataFrame(`${this.#head},"choices":[],"usage":${JSON.stringify(writeUsage(this.#usage))}}`);
  }
}

/** Chat shows usage in a stream only to those who ask. */
function asksForUsage({ source }: ClientCall): boolean {
  return objectOf(source.body["stream_options"])?.["include_usage"] === true;
}
