import type { JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { dataUrl } from "../../ir/data-url.ts";
import type {
  IrAssistantBlock,
  IrBytes,
  IrMessage,
  IrReasoning,
  IrText,
  IrToolCall,
  IrToolResult,
  IrUserBlock,
} from "../../ir/ir.ts";
import { cacheBreakpoint } from "../../openai/request-fields.ts";
import { flattenContent, type IrFile, markError, type PlainContent } from "../../target/flatten-content.ts";
import { takesCacheBreakpoints } from "../../target/model-traits.ts";
import { summaryPart } from "../reasoning.ts";

/** Writes the conversation as a flat list of items, in order. */
export function writeInput(
  messages: readonly IrMessage[],
  target: Target,
  dropped: DroppedFields,
): JsonObject[] {
  const writer = new InputWriter(target, dropped);
  for (const message of messages) writer.write(message);
  return writer.items;
}

/** Instructions keep their blocks and their position. */
export function developerItem(blocks: readonly IrText[], target: Target): JsonObject {
  const takesBreakpoints = takesCacheBreakpoints(target);
  return {
    type: "message",
    role: "developer",
    content: blocks.map(({ text, cache }) => ({
      type: "input_text",
      text,
      ...(takesBreakpoints && cache !== undefined ? cacheBreakpoint : {}),
    })),
  };
}

class InputWriter {
  readonly items: JsonObject[] = [];
  readonly #target: Target;
  readonly #dropped: DroppedFields;
  /** The content of the current message; null between messages. */
  #content: JsonObject[] | null = null;

  constructor(target: Target, dropped: DroppedFields) {
    this.#target = target;
    this.#dropped = dropped;
  }

  write(message: IrMessage): void {
    if (message.role !== "system" && message.name !== undefined) this.#dropped.addNamed("messageName");
    switch (message.role) {
      case "system":
        this.items.push(developerItem(message.blocks, this.#target));
        break;
      case "user":
        for (const block of message.blocks) this.#writeUserBlock(block);
        break;
      case "assistant":
        for (const block of message.blocks) this.#writeAssistantBlock(block);
        break;
    }
    this.#closeMessage();
  }

  #writeUserBlock(block: IrUserBlock): void {
    if (block.type === "tool_result") this.#push(writeResult(block));
    else for (const part of flattenContent(block)) this.#say("user", this.#marked(writePart(part), part));
  }

  #marked(written: JsonObject, { cache }: PlainContent): JsonObject {
    const isMarked = cache !== undefined && takesCacheBreakpoints(this.#target);
    return isMarked ? { ...written, ...cacheBreakpoint } : written;
  }

  #writeAssistantBlock(block: IrAssistantBlock): void {
    switch (block.type) {
      case "text":
        this.#say("assistant", { type: "output_text", text: block.text });
        break;
      case "refusal":
        this.#say("assistant", { type: "refusal", refusal: block.text });
        break;
      case "tool_call":
        this.#push(writeCall(block));
        break;
      case "reasoning":
        this.#writeReasoning(block);
    }
  }

  #writeReasoning(block: IrReasoning): void {
    const item = reasoningOf(block, this.#target);
    if (item === null) this.#dropped.addNamed("reasoning");
    else this.#push(item);
  }

  #say(role: "user" | "assistant", part: JsonObject): void {
    if (this.#content === null) {
      this.#content = [];
      this.items.push({ type: "message", role, content: this.#content });
    }
    this.#content.push(part);
  }

  #push(item: JsonObject): void {
    this.#closeMessage();
    this.items.push(item);
  }

  #closeMessage(): void {
    this.#content = null;
  }
}

function writeCall(call: IrToolCall): JsonObject {
  return call.kind === "custom"
    ? { type: "custom_tool_call", call_id: call.id, name: call.name, input: call.input }
    : { type: "function_call", call_id: call.id, name: call.name, arguments: call.input || "{}" };
}

function writeResult(result: IrToolResult): JsonObject {
  const type = result.kind === "custom" ? "custom_tool_call_output" : "function_call_output";
  const content = (result.isError ? markError(result.content) : result.content).flatMap(flattenContent);
  return { type, call_id: result.id, output: writeOutput(content) };
}

/** A single text is written as a string, which every provider takes; images and several texts need a list. */
function writeOutput(content: readonly PlainContent[]): string | JsonObject[] {
  const [first, ...rest] = content;
  if (first === undefined) return "";
  return first.type === "text" && rest.length === 0 ? first.text : content.map(writePart);
}

function writePart(part: PlainContent): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image": {
      const address = part.source.kind === "url" ? part.source.url : dataUrl(part.source);
      return { type: "input_image", image_url: address, detail: part.detail ?? "auto" };
    }
    case "document":
      return { type: "input_file", ...writeFile(part) };
  }
}

function writeFile({ source, title }: IrFile): JsonObject {
  if (source.kind === "url") return { file_url: source.url };
  return { filename: title ?? fileName(source), file_data: dataUrl(source) };
}

/** OpenAI requires a name, and infers the file type from its extension. */
function fileName(bytes: IrBytes): string {
  return bytes.mediaType === "application/pdf" ? "document.pdf" : "document.txt";
}

/**
 * Null if it is not the provider's own: OpenAI rejects Anthropic's signatures, and reasoning never becomes assistant
 * text. The id is omitted, because nothing was stored under it. OpenAI itself cannot use reasoning without its
 * ciphertext.
 */
function reasoningOf({ parts, signature }: IrReasoning, target: Target): JsonObject | null {
  if (signature?.maker !== "openai") return null;
  if (signature.encryptedContent === null && (target.isStrict || parts.length === 0)) return null;
  const texts = signature.raw
    ? { summary: [], content: parts.map((text) => ({ type: "reasoning_text", text })) }
    : { summary: parts.map(summaryPart) };
  const encrypted =
    signature.encryptedContent === null ? {} : { encrypted_content: signature.encryptedContent };
  return { type: "reasoning", ...texts, ...encrypted };
}
