import type { IrRequest, ToolKind, ToolRef } from "../ir/ir.ts";

const legal = /^[a-zA-Z0-9_-]{1,64}$/;
const illegalCharacters = /[^a-zA-Z0-9_-]/g;
const maxLength = 64;

export interface ClientTool extends ToolRef {
  readonly kind: ToolKind;
}

/**
 * Both vendors take names of up to 64 letters, digits, `_` and `-`, and neither knows Codex' namespaces.
 * What does not fit gets a name that is always the same for the same tool, and the client reads its own
 * again. One per translation; it learns from the request and answers for the response.
 */
export class ToolNames {
  readonly #byProvider = new Map<string, ClientTool>();
  readonly #byClient = new Map<string, string>();

  constructor(request: Pick<IrRequest, "tools" | "messages">) {
    for (const tool of request.tools) {
      if (tool.type === "hosted") continue;
      this.#learn({ ...refOf(tool), kind: tool.type === "custom" ? "custom" : tool.kind });
    }
    for (const message of request.messages) {
      if (message.role !== "assistant") continue;
      for (const block of message.blocks) {
        if (block.type === "tool_call") this.#learn({ ...refOf(block), kind: block.kind });
      }
    }
  }

  /** Names that were learned on another thread, as far as an answer needs them. */
  static of(byProvider: Iterable<readonly [string, ClientTool]>): ToolNames {
    const names = new ToolNames({ tools: [], messages: [] });
    for (const [name, tool] of byProvider) names.#byProvider.set(name, tool);
    return names;
  }

  /** The client's tools by the provider's names. */
  entries(): readonly (readonly [string, ClientTool])[] {
    return [...this.#byProvider];
  }

  /** The name to use toward the provider; also for a choice that names a tool nobody has declared. */
  provider(ref: ToolRef): string {
    return this.#byClient.get(keyOf(ref)) ?? legalName(flatName(ref));
  }

  /** The client's own tool; a name that the model made up stays as it is. */
  client(providerName: string): ClientTool {
    return this.#byProvider.get(providerName) ?? { namespace: null, name: providerName, kind: "function" };
  }

  #learn(tool: ClientTool): void {
    if (this.#byClient.has(keyOf(tool))) return;
    const flat = legalName(flatName(tool));
    const name = this.#byProvider.has(flat) ? hashedName(flat, keyOf(tool)) : flat;
    this.#byClient.set(keyOf(tool), name);
    this.#byProvider.set(name, tool);
  }
}

function refOf(ref: ToolRef): ToolRef {
  return { namespace: ref.namespace, name: ref.name };
}

function keyOf(ref: ToolRef): string {
  return isBare(ref) ? ref.name : `${ref.namespace}\n${ref.name}`;
}

/** `functions` is what Codex calls the namespace of tools that have none. */
function isBare(ref: ToolRef): boolean {
  return ref.namespace === null || ref.namespace === "functions";
}

function flatName(ref: ToolRef): string {
  const { namespace, name } = ref;
  if (namespace === null || isBare(ref)) return name;
  return namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;
}

function legalName(name: string): string {
  return legal.test(name) ? name : hashedName(name, name);
}

function hashedName(name: string, identity: string): string {
  return shorten(name.replace(illegalCharacters, "_"), identity, maxLength);
}

/** A readable beginning and enough of a hash to keep two apart. */
export function shorten(text: string, identity: string, length: number): string {
  const hash = Bun.hash.xxHash64(identity).toString(16).padStart(16, "0").slice(0, 10);
  return `${text.slice(0, length - hash.length - 1)}_${hash}`;
}
