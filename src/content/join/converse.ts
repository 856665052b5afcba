import { isObject, type Json, type JsonObject, tryParse } from "../../base/json.ts";
import { addByIndex, type Growing, grow } from "./growing.ts";

/** Events of Bedrock's ConverseStream, whose types are their names. */
export class ConverseJoiner {
  #role: Json | undefined;
  readonly #blocks: Growing[] = [];
  #rest: JsonObject | null = null;
  #error: Json = null;

  add(event: JsonObject, name: string): void {
    // `p` is padding.
    const { contentBlockIndex: index, start, delta, p: _, ...rest } = event;
    const at = typeof index === "number" ? index : 0;
    if (name === "messageStart") this.#role = event["role"] ?? "assistant";
    else if (name === "contentBlockStart" && isObject(start)) grow(addByIndex(this.#blocks, at, {}), start);
    else if (name === "contentBlockDelta" && isObject(delta)) this.#addDelta(at, delta);
    else if (name === "messageStop" || name === "metadata") this.#rest = { ...this.#rest, ...rest };
    else if (name === "error") this.#error = event["error"] ?? event;
  }

  /** Reasoning is one level deeper in a whole response. */
  #addDelta(at: number, delta: JsonObject): void {
    const { reasoningContent: reasoning, ...rest } = delta;
    const block = addByIndex(this.#blocks, at, {});
    grow(block, rest);
    if (!isObject(reasoning)) return;
    const { text, signature, ...other } = reasoning;
    const reasoningText = {
      ...(text === undefined ? {} : { text }),
      ...(signature === undefined ? {} : { signature }),
    };
    const known = isObject(block["reasoningContent"]) ? block["reasoningContent"] : {};
    block["reasoningContent"] = known;
    grow(known, Object.keys(reasoningText).length === 0 ? other : { ...other, reasoningText });
  }

  joined(): Json {
    const error = this.#error === null ? {} : { error: this.#error };
    if (this.#role === undefined && this.#blocks.length === 0) return this.#error === null ? null : error;
    const content = this.#blocks.filter(Boolean).map(wholeBlock);
    const message = { role: this.#role ?? "assistant", content };
    return { output: { message }, ...this.#rest, ...error };
  }
}

/** The input of a tool comes as pieces of JSON text. */
function wholeBlock(block: JsonObject): JsonObject {
  const { toolUse } = block;
  if (!isObject(toolUse)) return block;
  const { input = {} } = toolUse;
  return {
    ...block,
    toolUse: { ...toolUse, input: typeof input === "string" ? (tryParse(input) ?? input) : input },
  };
}
