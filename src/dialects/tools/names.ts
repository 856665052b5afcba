import type { ToolRules } from "../contract/provider-dialect.ts";
import type { IrRequest, ToolKind, ToolRef } from "../ir/ir.ts";

const legal = /^[a-zA-Z0-9_-]{1,64}$/;
const legalFromLetter = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const illegalCharacters = /[^a-zA-Z0-9_-]/g;
const maxLength = 64;

export interface ClientTool extends ToolRef {
  readonly kind: ToolKind;
}

/**
 * Maps tool names between client and provider. Both vendors allow names of up to 64 letters, digits, `_` and `-`, and
 * neither has Codex' namespaces. Other names are replaced, always by the same name for the same tool, and restored in
 * the response. One per translation.
 */
export class ToolNames {
  readonly #byProvider = new Map<string, ClientTool>();
  readonly #byClient = new Map<string, string>();
  readonly #legal: RegExp;

  constructor(
    request: Pick<IrRequest, "tools" | "messages">,
    { namesBeginWithLetter }: Pick<ToolRules, "namesBeginWithLetter"> = {},
  ) {
    this.#legal = namesBeginWithLetter === true ? legalFromLetter : legal;
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

  /** From entries that another thread sent; sufficient for translating a response. */
  static of(byProvider: Iterable<readonly [string, ClientTool]>): ToolNames {
    const names = new ToolNames({ tools: [], messages: [] });
    for (const [name, tool] of byProvider) names.#byProvider.set(name, tool);
    return names;
  }

  /** The client's tools by the provider's names. */
  entries(): readonly (readonly [string, ClientTool])[] {
    return [...this.#byProvider];
  }

  /** The provider's name for a tool, also for one that is not declared. */
  provider(ref: ToolRef): string {
    return this.#byClient.get(keyOf(ref)) ?? this.#legalName(flatName(ref));
  }

  /** The client's tool; a name that the model made up is kept. */
  client(providerName: string): ClientTool {
    return this.#byProvider.get(providerName) ?? { namespace: null, name: providerName, kind: "function" };
  }

  #learn(tool: ClientTool): void {
    if (this.#byClient.has(keyOf(tool))) return;
    const flat = this.#legalName(flatName(tool));
    const name = this.#byProvider.has(flat) ? hashedName(flat, keyOf(tool)) : flat;
    this.#byClient.set(keyOf(tool), name);
    this.#byProvider.set(name, tool);
  }

  /** An illegal name gets the hash of itself, and an underscore in front if it begins with another character. */
  #legalName(name: string): string {
    if (this.#legal.test(name)) return name;
    const hashed = hashedName(name, name);
    return this.#legal.test(hashed) ? hashed : hashedName(`_${name}`, name);
  }
}

function refOf(ref: ToolRef): ToolRef {
  return { namespace: ref.namespace, name: ref.name };
}

function keyOf(ref: ToolRef): string {
  return isBare(ref) ? ref.name : `${ref.namespace}\n${ref.name}`;
}

/** Codex uses the namespace `functions` for tools without one. */
function isBare(ref: ToolRef): boolean {
  return ref.namespace === null || ref.namespace === "functions";
}

function flatName(ref: ToolRef): string {
  const { namespace, name } = ref;
  if (namespace === null || isBare(ref)) return name;
  return namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;
}

function hashedName(name: string, identity: string): string {
  return shorten(name.replace(illegalCharacters, "_"), identity, maxLength);
}

/** A readable start and enough of a hash to be unique. */
function shorten(text: string, identity: string, length: number): string {
  const hash = Bun.hash.xxHash64(identity).toString(16).padStart(16, "0").slice(0, 10);
  return `${text.slice(0, length - hash.length - 1)}_${hash}`;
}
