import type { Json, JsonObject } from "../../../base/json.ts";
import type {
  IrContent,
  IrMessage,
  IrReasoning,
  IrRequest,
  IrText,
  IrToolCall,
  IrToolResult,
} from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";
import { flattenContent, markError } from "../../translation/flatten-content.ts";
import { ContentWriter } from "./content-out.ts";

type AssistantMessage = IrMessage & { readonly role: "assistant" };
type UserMessage = IrMessage & { readonly role: "user" };

/** The text of a tool message whose result is only an image or a file. */
const attached = "The result is attached to the next user message.";

export function writeMessages(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject[] {
  const content = new ContentWriter(target);
  const messages: JsonObject[] = [];
  if (request.system.length > 0) messages.push({ role: "system", content: content.write(request.system) });
  for (const message of request.messages) {
    if (message.role === "system") messages.push({ role: "system", content: content.write(message.blocks) });
    else if (message.role === "user") addUser(messages, message, content);
    else addAssistant(messages, message, content, target, dropped);
  }
  return messages;
}

/** Tool results come first, each as a message of its own, with nothing in between. */
function addUser(messages: JsonObject[], message: UserMessage, content: ContentWriter): void {
  const said: IrContent[] = [];
  const attachments: IrContent[] = [];
  for (const block of message.blocks) {
    if (block.type === "tool_result") messages.push(writeAnswer(block, attachments));
    else said.push(block);
  }
  const rest = attachments.length === 0 ? said : [...attachments, ...said];
  if (rest.length > 0) messages.push(named("user", message.name, content.write(rest)));
}

function named(role: string, name: string | undefined, content: Json): JsonObject {
  return name === undefined ? { role, content } : { role, name, content };
}

/** A tool message may only contain text; everything else is added to `attachments`. */
function writeAnswer(result: IrToolResult, attachments: IrContent[]): JsonObject {
  const given = (result.isError ? markError(result.content) : result.content).flatMap(flattenContent);
  const texts = given.filter((block) => block.type === "text");
  const others = given.filter((block) => block.type !== "text");
  attachments.push(...others);
  const text = texts.map((block) => block.text).join("\n");
  return {
    role: "tool",
    tool_call_id: result.id,
    content: text === "" && others.length > 0 ? attached : text,
  };
}

/** Text and calls go into one message; a turn with neither is skipped. */
function addAssistant(
  messages: JsonObject[],
  message: AssistantMessage,
  content: ContentWriter,
  target: Target,
  dropped: DroppedFields,
): void {
  const texts: IrText[] = [];
  const calls: IrToolCall[] = [];
  let refusal = "";
  let reasoning = "";
  for (const block of message.blocks) {
    if (block.type === "text") texts.push(block);
    else if (block.type === "tool_call") calls.push(block);
    else if (block.type === "refusal") refusal += block.text;
    else if (showsReasoning(block, target)) reasoning += block.parts.join(partSeparator);
    else dropped.add(dropped.names.reasoning);
  }
  if (texts.length === 0 && calls.length === 0 && refusal === "") return;
  const written = named("assistant", message.name, texts.length === 0 ? null : content.write(texts));
  if (refusal !== "") written["refusal"] = refusal;
  if (reasoning !== "") written["reasoning_content"] = reasoning;
  if (calls.length > 0) written["tool_calls"] = calls.map(writeCall);
  messages.push(written);
}

/** Providers that show their reasoning expect it back with their calls; OpenAI has no such field. */
function showsReasoning(block: IrReasoning, target: Target): boolean {
  return !target.isStrict && block.parts.some((part) => part !== "");
}

function writeCall(call: IrToolCall): JsonObject {
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.input === "" ? "{}" : call.input },
  };
}
