import { isObject, type Json, type JsonObject, tryParse } from "../../base/json.ts";
import { addByIndex, type Growing, grow } from "./growing.ts";

/** Events of Anthropic's Messages API. */
export class MessagesJoiner {
  #message: JsonObject | null = null;
  readonly #blocks: Growing[] = [];
  /** The input of a tool comes as pieces of JSON text. */
  readonly #inputs = new Map<number, string>();
  #error: Json = null;

  add(event: JsonObject): void {
    const { type, index } = event;
    const at = typeof index === "number" ? index : 0;
    if (type === "message_start" && isObject(event["message"])) this.#message = { ...event["message"] };
    else if (type === "content_block_start" && isObject(event["content_block"]))
      addByIndex(this.#blocks, at, { ...event["content_block"] });
    else if (type === "content_block_delta" && isObject(event["delta"])) this.#addDelta(at, event["delta"]);
    else if (type === "message_delta") this.#end(event);
    else if (type === "error") this.#error = event["error"] ?? null;
  }

  #addDelta(at: number, { type, ...delta }: JsonObject): void {
    const { partial_json: json, citation } = delta;
    const block = addByIndex(this.#blocks, at, {});
    if (typeof json === "string") this.#inputs.set(at, (this.#inputs.get(at) ?? "") + json);
    else if (citation !== undefined) grow(block, { citations: [citation] });
    else grow(block, delta);
  }

  #end({ delta, usage, ...rest }: JsonObject): void {
    const message = this.#message ?? {};
    const { type: _, ...more } = rest;
    const before = isObject(message["usage"]) ? message["usage"] : {};
    const after = isObject(usage) ? { usage: { ...before, ...usage } } : {};
    this.#message = { ...message, ...more, ...(isObject(delta) ? delta : {}), ...after };
  }

  joined(): Json {
    const error = this.#error === null ? {} : { error: this.#error };
    if (this.#message === null) return this.#error === null ? null : { type: "error", ...error };
    const content = this.#blocks.flatMap((block, at) => (block ? [this.#whole(block, at)] : []));
    return { ...this.#message, content, ...error };
  }

  #whole(block: JsonObject, at: number): JsonObject {
    const text = this.#inputs.get(at);
    if (text === undefined || text === "") return block;
    return { ...block, input: tryParse(text) ?? text };
  }
}
