import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { IrTool } from "../../ir/ir.ts";
import { listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";

const changes: ReadonlySet<Json> = new Set(["tool_addition", "tool_removal"]);

function isToolChange(block: JsonObject): boolean {
  return changes.has(block["type"] ?? null);
}

/**
 * System messages may add and remove tools in the middle of a conversation. No other dialect can, so the tools are those
 * that the model may call from now on.
 */
export class ToolChanges {
  readonly #read: (definition: JsonObject, path: string) => IrTool;
  readonly #dropped: DroppedFields;
  /** All that were ever defined, by name; one that was removed may be added again. */
  readonly #defined = new Map<string, IrTool>();
  readonly #offered: Map<string, IrTool>;

  constructor(
    tools: readonly IrTool[],
    read: (definition: JsonObject, path: string) => IrTool,
    dropped: DroppedFields,
  ) {
    this.#read = read;
    this.#dropped = dropped;
    for (const tool of tools) this.#defined.set(keyOf(tool), tool);
    this.#offered = new Map(this.#defined);
  }

  get offered(): IrTool[] {
    return [...this.#offered.values()];
  }

  apply(messages: Json | undefined): void {
    let index = -1;
    for (const message of listOf(messages)) {
      index += 1;
      if (!isObject(message) || message["role"] !== "system") continue;
      objectsOf(message["content"]).forEach((block, at) => {
        if (isToolChange(block)) this.#change(block, `messages[${index}].content[${at}]`);
      });
    }
  }

  #change(block: JsonObject, path: string): void {
    const tool = objectOf(block["tool"]) ?? {};
    const definition = tool["type"] === "tool_definition" ? objectOf(tool["definition"]) : null;
    if (definition !== null) {
      const read = this.#read(definition, `${path}.tool.definition`);
      this.#defined.set(keyOf(read), read);
      this.#offered.set(keyOf(read), read);
      return;
    }
    const name = tool["type"] === "tool_reference" ? stringOf(tool["name"]) : null;
    const defined = name === null ? undefined : this.#defined.get(name);
    // Toolsets of MCP servers and unknown tools: what is not offered cannot be changed.
    if (name === null || defined === undefined) this.#dropped.add(path);
    else if (block["type"] === "tool_removal") this.#offered.delete(name);
    else this.#offered.set(name, defined);
  }
}

function keyOf(tool: IrTool): string {
  return tool.type === "hosted" ? tool.path : tool.name;
}
