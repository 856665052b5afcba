import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, decideParts, reject } from "../../contract/field-decisions.ts";
import type {
  IrAssistantBlock,
  IrMessage,
  IrReasoning,
  IrRequest,
  IrText,
  IrToolCall,
  IrUserBlock,
  ToolKind,
} from "../../ir/ir.ts";
import { isZero, listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { customPart, readCallSignature } from "../tool-call.ts";
import { cacheOf, readContent, readTexts } from "./content-in.ts";
import { messageFields, partFields } from "./fields.ts";

/** Instructions at the beginning become the system prompt; later ones keep their position. */
export function readMessages(
  messages: Json | undefined,
  dropped: DroppedFields,
): Pick<IrRequest, "system" | "messages"> {
  const system: IrText[] = [];
  const turns = new Turns();
  listOf(messages).forEach((message, index) => {
    if (!isObject(message)) return;
    const path = `messages[${index}]`;
    decideFields(message, messageFields, dropped, "messages[].");
    decideParts(message["content"], partFields, dropped);
    const { role } = message;
    if (role === "system" || role === "developer") {
      const blocks = marked(readTexts(message["content"], `${path}.content`), message);
      if (turns.empty) system.push(...blocks);
      else if (blocks.length > 0) turns.add({ role: "system", blocks });
    } else turns.take(message, path);
  });
  return { system, messages: turns.finished() };
}

/** Groups messages into turns: tool results and the user message right after them become one turn. */
class Turns {
  readonly #messages: IrMessage[] = [];
  readonly #kinds = new Map<string, ToolKind>();
  /** The id of the last call of each function, for calls that have none. */
  readonly #legacyIds = new Map<string, string>();
  #answers: IrUserBlock[] | null = null;

  get empty(): boolean {
    return this.#messages.length === 0 && this.#answers === null;
  }

  add(message: IrMessage): void {
    this.#close();
    this.#messages.push(message);
  }

  take(message: JsonObject, path: string): void {
    if (message["role"] === "tool") this.#answer(message, path, callIdOf(message, path));
    else if (message["role"] === "function") this.#answer(message, path, this.#legacyIdOf(message, path));
    else if (message["role"] === "assistant") this.#assistant(message, path);
    else this.#user(message, path);
  }

  finished(): readonly IrMessage[] {
    this.#close();
    return this.#messages;
  }

  /** Results of `functions` name the function, and belong to its last call. */
  #legacyIdOf({ name }: JsonObject, path: string): string {
    const id = this.#legacyIds.get(stringOf(name) ?? "");
    return id ?? reject(`${path}.name`, "must be the name of an earlier `function_call`");
  }

  #answer(message: JsonObject, path: string, id: string): void {
    this.#answers ??= [];
    this.#answers.push({
      type: "tool_result",
      id,
      kind: this.#kinds.get(id) ?? "function",
      content: readContent(message["content"], `${path}.content`),
      isError: false,
      ...cacheOf(message),
    });
  }

  #user(message: JsonObject, path: string): void {
    const blocks = marked(readContent(message["content"], `${path}.content`), message);
    const name = stringOf(message["name"]);
    if (this.#answers !== null && name === null) {
      this.#answers.push(...blocks);
      this.#close();
    } else if (blocks.length > 0) {
      this.add(name === null ? { role: "user", blocks } : { role: "user", blocks, name });
    }
  }

  #assistant(message: JsonObject, path: string): void {
    const legacy = readLegacyCall(message, path);
    if (legacy !== null) this.#legacyIds.set(legacy.name, legacy.id);
    const calls = [...readCalls(message, path), ...(legacy === null ? [] : [legacy])];
    for (const call of calls) if (call.type === "tool_call") this.#kinds.set(call.id, call.kind);
    const blocks = marked([...readReasoning(message), ...readText(message, path), ...calls], message);
    const name = stringOf(message["name"]);
    if (blocks.length > 0) {
      this.add(name === null ? { role: "assistant", blocks } : { role: "assistant", blocks, name });
    }
  }

  #close(): void {
    if (this.#answers !== null) this.#messages.push({ role: "user", blocks: this.#answers });
    this.#answers = null;
  }
}

function callIdOf(message: JsonObject, path: string): string {
  return stringOf(message["tool_call_id"]) ?? reject(`${path}.tool_call_id`, "must be the id of a tool call");
}

/** A mark on a whole message, as opencode sets it, is one on its last block. */
function marked<Block extends IrMessage["blocks"][number]>(blocks: Block[], message: JsonObject): Block[] {
  const mark = cacheOf(message);
  const last = blocks.findLastIndex(({ type }) => type !== "reasoning" && type !== "refusal");
  const block = blocks[last];
  return mark.cache === undefined || block === undefined ? blocks : blocks.with(last, { ...mark, ...block });
}

/** Chat has no signature for reasoning, so it is only sent to chat providers. */
function readReasoning(message: JsonObject): IrAssistantBlock[] {
  const text = stringOf(message["reasoning_content"]) ?? stringOf(message["reasoning"]) ?? "";
  return text === "" ? [] : [{ type: "reasoning", parts: [text], signature: null }];
}

function readText(message: JsonObject, path: string): IrAssistantBlock[] {
  const { content } = message;
  if (typeof content === "string" && typeof message["refusal"] !== "string") {
    return readTexts(content, `${path}.content`);
  }
  const refusals = objectsOf(content).filter((part) => part["type"] === "refusal");
  const others = Array.isArray(content)
    ? content.filter((part) => objectOf(part)?.["type"] !== "refusal")
    : content;
  const declined = [...refusals.map((part) => part["refusal"]), message["refusal"]];
  return [
    ...readTexts(others, `${path}.content`),
    ...declined.flatMap((text): IrAssistantBlock[] =>
      typeof text === "string" && text !== "" ? [{ type: "refusal", text }] : [],
    ),
  ];
}

/** Each call, preceded by its signed reasoning if there is any. */
function readCalls(message: JsonObject, path: string): (IrToolCall | IrReasoning)[] {
  return objectsOf(message["tool_calls"]).flatMap((call, index) => {
    const custom = customPart(call);
    const called = custom ?? objectOf(call["function"]) ?? {};
    const id = stringOf(call["id"]);
    const name = stringOf(called["name"]);
    if (id === null || name === null) {
      return reject(`${path}.tool_calls[${index}]`, "must have an `id` and a name");
    }
    const read: IrToolCall = {
      type: "tool_call",
      id,
      kind: custom === null ? "function" : "custom",
      namespace: null,
      name,
      input: stringOf(custom === null ? called["arguments"] : called["input"]) ?? "",
    };
    return [...readCallSignature(call), read];
  });
}

/** The call of a client that uses `functions`. It has no id, so its place in the conversation makes one. */
function readLegacyCall(message: JsonObject, path: string): IrToolCall | null {
  const call = isZero(message["function_call"]) ? null : objectOf(message["function_call"]);
  if (call === null) return null;
  const name = stringOf(call["name"]) ?? reject(`${path}.function_call.name`, "must be a non-empty string");
  const id = `call_function_${path.replace(/\D/g, "")}`;
  const input = stringOf(call["arguments"]) ?? "";
  return { type: "tool_call", id, kind: "function", namespace: null, name, input };
}
