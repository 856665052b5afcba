import type { JsonObject } from "../../base/json.ts";
import type { IrCustomTool, IrFunctionTool } from "../ir/ir.ts";
import { objectOf, parseObject, stringOf } from "../json/json-fields.ts";
import { functionTool } from "./schema.ts";

const inputOnly: JsonObject = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};

/**
 * A freeform tool as a function with one string named `input`, for a provider that only has functions. The JSON around
 * it is removed from the response, because Codex' apply_patch expects the bare patch.
 */
export function asFunction(tool: IrCustomTool): IrFunctionTool {
  const { namespace, name } = tool;
  return { ...functionTool(name, describe(tool), inputOnly), namespace };
}

function describe(tool: IrCustomTool): string {
  const description = tool.description ?? "";
  const { syntax, definition } = objectOf(tool.format ?? undefined) ?? {};
  if (typeof definition !== "string") return description;
  const grammar = `The input must follow this ${stringOf(syntax) ?? ""} grammar:\n${definition}`;
  return description === "" ? grammar : `${description}\n\n${grammar}`;
}

export function wrapInput(input: string): string {
  return JSON.stringify({ input });
}

/** Models also write `{"patch": …}`, a fenced block or the bare text instead. */
export function unwrapInput(text: string): string {
  const wrapped = parseObject(text);
  if (wrapped === null) return unfenced(text);
  return stringOf(wrapped["input"]) ?? onlyString(wrapped) ?? text;
}

function onlyString(wrapped: JsonObject): string | null {
  const texts = Object.values(wrapped).filter((value) => typeof value === "string");
  return texts.length === 1 ? (texts[0] ?? null) : null;
}

function unfenced(text: string): string {
  return /^\s*```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

const opening = /^\s*\{\s*"(?:input|patch)"\s*:\s*"/;
const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Unwraps a streamed input: after `{"input":"` the text is emitted as it arrives. */
export class InputUnwrapper {
  #state: "opening" | "inside" | "closed" = "opening";
  #held = "";

  push(fragment: string): string {
    if (this.#state === "closed") return "";
    this.#held += fragment;
    if (this.#state === "opening") {
      const begun = opening.exec(this.#held);
      if (begun === null) return "";
      this.#state = "inside";
      this.#held = this.#held.slice(begun[0].length);
    }
    return this.#inside();
  }

  /** Input that never had the expected wrapper is unwrapped all at once. */
  end(): string {
    return this.#state === "opening" ? unwrapInput(this.#held) : "";
  }

  /** Decodes up to the closing quote, or to an escape that is still incomplete. */
  #inside(): string {
    let text = "";
    let at = 0;
    for (const [piece] of this.#held.matchAll(pieces)) {
      text += piece.startsWith("\\") ? decoded(piece.slice(1)) : piece;
      at += piece.length;
    }
    if (this.#held[at] === '"') this.#state = "closed";
    this.#held = this.#held.slice(at);
    return text;
  }
}

/** Sticky, so that they end at the closing quote, or at half an escape. */
const pieces = /[^"\\]+|\\u.{4}|\\[^u]/gsy;

function decoded(sequence: string): string {
  if (sequence.startsWith("u")) return String.fromCharCode(Number.parseInt(sequence.slice(1), 16));
  return escapes[sequence] ?? sequence;
}
