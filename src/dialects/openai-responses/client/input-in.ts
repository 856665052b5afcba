import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject, Untranslatable, unsupported } from "../../contract/field-decisions.ts";
import type { IrAssistantBlock, IrMessage, IrText, IrUserBlock, ToolKind } from "../../ir/ir.ts";
import { listOf, nonEmpty } from "../../json/json-fields.ts";
import { readReplayedReasoning } from "../reasoning.ts";
import { readAnswer, readContent } from "./content-in.ts";
import { type LateTools, toolSearchName } from "./tools-in.ts";

export interface InputConversation {
  readonly system: IrText[];
  readonly messages: IrMessage[];
  readonly lateTools: LateTools[];
}

/** Calls of hosted tools. Their results are in the text that follows. */
const hostedHistory = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_list_tools",
  "mcp_call",
]);

/** Items that only their vendor can read: calls of its own tools and their results, compactions, settings. */
const vendorsOwn =
  /_(?:call|output|request|response)$|^(?:compaction(?:_summary|_trigger)?|configuration_update|program)$/;

/** Groups the flat list of items into turns: adjacent items of the same side become one turn. */
export function readInput(input: Json | undefined, dropped: DroppedFields): InputConversation {
  const reader = new InputReader(dropped);
  if (typeof input === "string") reader.readItem({ role: "user", content: input }, "input");
  else if (Array.isArray(input)) {
    input.forEach((item, index) => {
      const path = `input[${index}]`;
      if (!isObject(item)) reject(path, "must be an object");
      reader.readItem(item, path);
    });
  } else reject("input", "must be a string or a list of items");
  return reader;
}

/**
 * Throws for items that are invalid for every provider, with the same error as a request that contains them. Items that only
 * some providers accept pass; the request that sends them is checked later.
 */
export function checkItems(items: Json | undefined, field: string): void {
  const reader = new InputReader({ add: () => {} });
  for (const [index, item] of listOf(items).entries()) {
    try {
      if (isObject(item)) reader.readItem(item, `${field}[${index}]`);
    } catch (error) {
      if (!(error instanceof Untranslatable)) throw error;
    }
  }
}

class InputReader implements InputConversation {
  readonly system: IrText[] = [];
  readonly messages: IrMessage[] = [];
  readonly lateTools: LateTools[] = [];
  readonly #dropped: Pick<DroppedFields, "add">;
  /** The current turn, if any. */
  #assistant: IrAssistantBlock[] | null = null;
  #results: IrUserBlock[] | null = null;

  constructor(dropped: Pick<DroppedFields, "add">) {
    this.#dropped = dropped;
  }

  readItem(item: JsonObject, path: string): void {
    const type = typeof item["type"] === "string" ? item["type"] : implicitType(item);
    switch (type) {
      case "message":
        this.#readMessage(item, path);
        break;
      case "reasoning":
        this.#readReasoning(item, path);
        break;
      case "function_call":
        this.#readCall(item, path, "function", item["arguments"], "arguments");
        break;
      case "custom_tool_call":
        this.#readCall(item, path, "custom", item["input"], "input");
        break;
      case "function_call_output":
        this.#readResult(item, path, "function");
        break;
      case "custom_tool_call_output":
        this.#readResult(item, path, "custom");
        break;
      case "tool_search_call":
        this.#readToolSearch(item, path);
        break;
      case "tool_search_output":
        this.#readToolSearchOutput(item, path);
        break;
      case "additional_tools":
        this.lateTools.push({ tools: item["tools"] ?? null, path: `${path}.tools` });
        break;
      default:
        this.#readForeign(type, path);
        break;
    }
  }

  #readMessage(item: JsonObject, path: string): void {
    const content = item["content"];
    if (item["phase"] !== undefined && item["phase"] !== null) this.#dropped.add("phase");
    switch (item["role"]) {
      case "assistant":
        if (listOf(content).some(hasAnnotations)) this.#dropped.add("annotations");
        this.#answer(...readAnswer(content, `${path}.content`));
        break;
      case "user":
        this.#say(readContent(content, `${path}.content`));
        break;
      case "system":
      case "developer":
        this.#instruct(readContent(content, `${path}.content`), path);
        break;
      default:
        reject(`${path}.role`, "must be user, assistant, system or developer");
    }
  }

  #readReasoning(item: JsonObject, path: string): void {
    const blocks = readReplayedReasoning(item);
    if (blocks.length === 0) this.#dropped.add(path);
    this.#answer(...blocks);
  }

  #readCall(item: JsonObject, path: string, kind: ToolKind, input: Json | undefined, field: string): void {
    const name = item["name"];
    if (typeof name !== "string" || name === "") reject(`${path}.name`, "must be a non-empty string");
    if (input !== undefined && input !== null && typeof input !== "string") {
      reject(`${path}.${field}`, "must be a string");
    }
    this.#answer({
      type: "tool_call",
      id: callId(item, path),
      kind,
      namespace: nonEmpty(item["namespace"]),
      name,
      input: input ?? "",
    });
  }

  #readResult(item: JsonObject, path: string, kind: ToolKind): void {
    const content = readContent(item["output"], `${path}.output`);
    this.#return({ type: "tool_result", id: callId(item, path), kind, content, isError: false });
  }

  /** A search that the provider ran is of no use to another provider. */
  #readToolSearch(item: JsonObject, path: string): void {
    if (item["execution"] === "server") {
      this.#dropped.add(path);
      return;
    }
    this.#answer({
      type: "tool_call",
      id: callId(item, path),
      kind: "tool_search",
      namespace: null,
      name: toolSearchName,
      input: JSON.stringify(item["arguments"] ?? {}),
    });
  }

  /** The tools that were found are the call's result, and can be called from here on. */
  #readToolSearchOutput(item: JsonObject, path: string): void {
    const tools = item["tools"] ?? [];
    this.lateTools.push({ tools, path: `${path}.tools` });
    if (item["execution"] === "server") return;
    const content = [{ type: "text" as const, text: JSON.stringify(tools) }];
    this.#return({
      type: "tool_result",
      id: callId(item, path),
      kind: "tool_search",
      content,
      isError: false,
    });
  }

  #readForeign(type: string, path: string): void {
    if (hostedHistory.has(type)) {
      this.#dropped.add(path);
      return;
    }
    if (type === "item_reference") {
      throw new Untranslatable(path, `${unsupported}. Send the item itself, and set \`store: false\``);
    }
    const hasType = `has type ${JSON.stringify(type)}`;
    if (!vendorsOwn.test(type)) reject(path, `${hasType}, which cannot be part of a conversation`);
    throw new Untranslatable(path, `${hasType}, which this model's provider does not support`);
  }

  #answer(...blocks: IrAssistantBlock[]): void {
    if (blocks.length === 0) return;
    if (this.#assistant === null) {
      this.#assistant = [];
      this.#results = null;
      this.messages.push({ role: "assistant", blocks: this.#assistant });
    }
    this.#assistant.push(...blocks);
  }

  #return(block: IrUserBlock): void {
    if (this.#results === null) {
      this.#results = [];
      this.#assistant = null;
      this.messages.push({ role: "user", blocks: this.#results });
    }
    this.#results.push(block);
  }

  /** A message after tool results joins their turn, because Messages requires both in one. */
  #say(blocks: readonly IrUserBlock[]): void {
    if (this.#results !== null) this.#results.push(...blocks);
    else this.messages.push({ role: "user", blocks });
    this.#assistant = null;
  }

  #instruct(blocks: readonly IrUserBlock[], path: string): void {
    const texts = blocks.map((block) => {
      if (block.type === "text") return block;
      throw new Untranslatable(`${path}.content`, "must contain only text");
    });
    if (this.messages.length === 0) {
      this.system.push(...texts);
      return;
    }
    this.#assistant = null;
    this.#results = null;
    this.messages.push({ role: "system", blocks: texts });
  }
}

function hasAnnotations(part: Json): boolean {
  return isObject(part) && listOf(part["annotations"]).length > 0;
}

/** Clients omit the type if the other fields imply it. */
function implicitType(item: JsonObject): string {
  return item["role"] !== undefined ? "message" : "item_reference";
}

function callId(item: JsonObject, path: string): string {
  const id = item["call_id"];
  return typeof id === "string" && id !== ""
    ? id
    : reject(`${path}.call_id`, "must be the id of a tool call");
}
