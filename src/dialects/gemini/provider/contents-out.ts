import type { JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { currentTurnStart, turnPartOf } from "../../ir/current-turn.ts";
import type { IrMessage, IrToolCall, IrToolResult } from "../../ir/ir.ts";
import { anySignature, signaturesOf } from "../../reasoning/google-signature.ts";
import { callInput } from "../../tools/call-input.ts";
import { missingResult } from "../../tools/pairing.ts";
import { writeContent } from "./content-out.ts";
import { takesCallIds, takesMediaInResults, wantsSignatures } from "./model.ts";

export interface Content extends JsonObject {
  role: "user" | "model";
  parts: JsonObject[];
}

type AssistantMessage = IrMessage & { readonly role: "assistant" };
type UserMessage = IrMessage & { readonly role: "user" };

/** Opens a conversation whose start the client no longer sends: a call must not come first. */
const earlier = "(The earlier conversation is not shown.)";

/** The conversation as turns of user and model that alternate. */
export function writeContents(
  messages: readonly IrMessage[],
  target: Target,
  dropped: DroppedFields,
): Content[] {
  const writer = new ContentsWriter(messages, target, dropped);
  messages.forEach((message, index) => {
    writer.write(message, index);
  });
  writer.end();
  return writer.contents;
}

class ContentsWriter {
  readonly contents: Content[] = [];
  readonly #messages: readonly IrMessage[];
  readonly #target: Target;
  readonly #dropped: DroppedFields;
  readonly #takesIds: boolean;
  /** The first message whose calls must be signed; determined at the first call. */
  #signedFrom: number | null = null;
  /** The calls of the last turn. The next turn has to have all their results, in this order. */
  #calls: readonly IrToolCall[] = [];

  constructor(messages: readonly IrMessage[], target: Target, dropped: DroppedFields) {
    this.#messages = messages;
    this.#target = target;
    this.#dropped = dropped;
    this.#takesIds = takesCallIds(target);
  }

  write(message: IrMessage, index: number): void {
    if (message.role !== "system" && message.name !== undefined) this.#dropped.addNamed("messageName");
    switch (message.role) {
      case "system":
        for (const block of message.blocks) this.#say("user", writeContent(block, this.#target));
        return;
      case "user":
        this.#user(message);
        return;
      case "assistant":
        this.#model(message, index);
    }
  }

  /** Google cannot continue a prefilled response, which is dropped. Calls without results get some. */
  end(): void {
    if (this.#calls.length > 0) this.#answer([]);
    while (this.contents.at(-1)?.role === "model") {
      this.contents.pop();
      this.#dropped.addNamed("prefill");
    }
  }

  #user({ blocks }: UserMessage): void {
    const results = blocks.filter((block) => block.type === "tool_result");
    if (this.#calls.length > 0) this.#answer(results);
    for (const block of blocks) {
      if (block.type !== "tool_result") this.#say("user", writeContent(block, this.#target));
    }
  }

  #answer(results: readonly IrToolResult[]): void {
    const left = [...results];
    const media: JsonObject[] = [];
    for (const call of this.#calls) {
      const at = left.findIndex(({ id }) => id === call.id);
      const [result] = at === -1 ? [] : left.splice(at, 1);
      const response = writeResult(call, result ?? missingResult(call.id, call.kind), this.#target, media);
      if (this.#takesIds) response["id"] = call.id;
      this.#say("user", [{ functionResponse: response }]);
    }
    this.#say("user", media);
    this.#calls = [];
  }

  #model(message: AssistantMessage, index: number): void {
    const signatures = signaturesOf(message.blocks, this.#target);
    const calls: IrToolCall[] = [];
    for (const block of message.blocks) {
      if (block.type === "reasoning") {
        // Gemini needs no thoughts back, only signatures; what others thought is lost.
        if (block.signature?.maker !== "google") this.#dropped.addNamed("reasoning");
      } else if (block.type !== "tool_call") {
        this.#say("model", block.text === "" ? [] : [{ text: block.text }]);
      } else {
        const missing = calls.length === 0 && this.#mustSign(index) ? anySignature : undefined;
        calls.push(block);
        this.#call(block, signatures?.get(block) ?? missing);
      }
    }
    this.#calls = calls;
  }

  #mustSign(index: number): boolean {
    this.#signedFrom ??= wantsSignatures(this.#target)
      ? currentTurnStart(this.#messages, turnPartOf)
      : Number.POSITIVE_INFINITY;
    return index >= this.#signedFrom;
  }

  #call(call: IrToolCall, signature: string | undefined): void {
    if (this.contents[0]?.role !== "user")
      this.contents.unshift({ role: "user", parts: [{ text: earlier }] });
    const functionCall: JsonObject = { name: call.name, args: callInput(call.input) };
    if (this.#takesIds) functionCall["id"] = call.id;
    const part: JsonObject = { functionCall };
    if (signature !== undefined) part["thoughtSignature"] = signature;
    this.#say("model", [part]);
  }

  /** Joins the turn of the same side. */
  #say(role: Content["role"], parts: JsonObject[]): void {
    if (parts.length === 0) return;
    const last = this.contents[this.contents.length - 1];
    if (last?.role !== role) this.contents.push({ role, parts });
    else for (const part of parts) last.parts.push(part);
  }
}

/** A call's result. Images and files of models before 3 go into `media`, to follow the results. */
function writeResult(
  call: IrToolCall,
  { content, isError }: IrToolResult,
  target: Target,
  media: JsonObject[],
): JsonObject {
  const texts: string[] = [];
  const others: JsonObject[] = [];
  for (const part of content.flatMap((block) => writeContent(block, target))) {
    if (typeof part["text"] === "string") texts.push(part["text"]);
    else others.push(part);
  }
  const text = texts.join("\n");
  const written: JsonObject = { name: call.name, response: isError ? { error: text } : { output: text } };
  if (others.length === 0) return written;
  if (takesMediaInResults(target)) written["parts"] = others;
  else media.push(...others);
  return written;
}
