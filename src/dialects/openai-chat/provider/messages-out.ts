import type { Json, JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { hasQuirk, type Quirk } from "../../contract/quirks.ts";
import { currentTurnStart, turnPartOf } from "../../ir/current-turn.ts";
import type {
  IrContent,
  IrMessage,
  IrReasoning,
  IrRequest,
  IrText,
  IrToolCall,
  IrToolResult,
} from "../../ir/ir.ts";
import { anySignature, isOwnSignature, signaturesOf } from "../../reasoning/google-signature.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { flattenContent, markError } from "../../target/flatten-content.ts";
import { modelName, wantsCallSignatures } from "../../target/model-traits.ts";
import { addSignature } from "../tool-call.ts";
import { writeContent } from "./content-out.ts";

type AssistantMessage = IrMessage & { readonly role: "assistant" };
type UserMessage = IrMessage & { readonly role: "user" };

/** The text of a tool message whose result is only an image or a file. */
const attached = "The result is attached to the next user message.";

export function writeMessages(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject[] {
  const messages: JsonObject[] = [];
  if (request.system.length > 0)
    messages.push({ role: "system", content: writeContent(request.system, target) });
  const currentTurn = wantsCallSignatures(target)
    ? currentTurnStart(request.messages, turnPartOf)
    : Number.POSITIVE_INFINITY;
  let index = -1;
  for (const message of request.messages) {
    index += 1;
    if (message.role === "system")
      messages.push({ role: "system", content: writeContent(message.blocks, target) });
    else if (message.role === "user") addUser(messages, message, target);
    else addAssistant(messages, message, { target, dropped, signsCalls: index >= currentTurn });
  }
  return target.quirks === undefined || target.quirks.length === 0
    ? messages
    : adapted(messages, target.quirks);
}

/** Tool results come first, each as a separate message, with nothing in between. */
function addUser(messages: JsonObject[], message: UserMessage, target: Target): void {
  const others: IrContent[] = [];
  const attachments: IrContent[] = [];
  for (const block of message.blocks) {
    if (block.type === "tool_result") messages.push(writeAnswer(block, attachments));
    else others.push(block);
  }
  const rest = attachments.length === 0 ? others : [...attachments, ...others];
  if (rest.length > 0) messages.push(named("user", message.name, writeContent(rest, target)));
}

function named(role: string, name: string | undefined, content: Json): JsonObject {
  return name === undefined ? { role, content } : { role, name, content };
}

/** A tool message may only contain text; everything else is added to `attachments`. */
function writeAnswer(result: IrToolResult, attachments: IrContent[]): JsonObject {
  const content = (result.isError ? markError(result.content) : result.content).flatMap(flattenContent);
  const texts = content.filter((block) => block.type === "text");
  const others = content.filter((block) => block.type !== "text");
  attachments.push(...others);
  const text = texts.map((block) => block.text).join("\n");
  return {
    role: "tool",
    tool_call_id: result.id,
    content: text === "" && others.length > 0 ? attached : text,
  };
}

interface AssistantContext {
  readonly target: Target;
  readonly dropped: DroppedFields;
  /** Whether the first call needs a signature. */
  readonly signsCalls: boolean;
}

/** Text and calls go into one message; a turn with neither is skipped. */
function addAssistant(messages: JsonObject[], message: AssistantMessage, context: AssistantContext): void {
  const { target, dropped } = context;
  const texts: IrText[] = [];
  const calls: IrToolCall[] = [];
  let refusal = "";
  let reasoning = "";
  const details: JsonObject[] = [];
  for (const block of message.blocks) {
    if (block.type === "text") texts.push(block);
    else if (block.type === "tool_call") calls.push(block);
    else if (block.type === "refusal") refusal += block.text;
    else if (addDetails(block, target, details)) continue;
    else if (showsReasoning(block, target)) reasoning += block.parts.join(partSeparator);
    else if (!isOwnSignature(block, target)) dropped.addNamed("reasoning");
  }
  if (texts.length === 0 && calls.length === 0 && refusal === "") return;
  const written = named("assistant", message.name, texts.length === 0 ? null : writeContent(texts, target));
  if (refusal !== "") written["refusal"] = refusal;
  if (reasoning !== "") written["reasoning_content"] = reasoning;
  if (details.length > 0) written["reasoning_details"] = details;
  if (calls.length > 0) written["tool_calls"] = writeCalls(message.blocks, calls, context);
  messages.push(written);
}

/** True if the reasoning is returned in OpenRouter's own form. */
function addDetails({ signature }: IrReasoning, target: Target, details: JsonObject[]): boolean {
  if (
    signature?.maker !== "chat" ||
    signature.details === undefined ||
    !hasQuirk(target, "reasoning_details")
  )
    return false;
  details.push(...signature.details);
  return true;
}

/** Providers that show their reasoning expect it back with their calls. OpenAI lacks the field, and R1 rejects it. */
function showsReasoning(block: IrReasoning, target: Target): boolean {
  if (target.isStrict || /deepseek-r1\b/i.test(modelName(target))) return false;
  return block.parts.some((part) => part !== "");
}

/** Google wants the signatures of its calls back, and from Gemini 3 on one on the first call of each message. */
function writeCalls(
  blocks: AssistantMessage["blocks"],
  calls: readonly IrToolCall[],
  { target, signsCalls }: AssistantContext,
): JsonObject[] {
  const signatures = signaturesOf(blocks, target);
  const written = calls.map((call) => {
    const signature = signatures?.get(call);
    const entry = writeCall(call);
    if (signature !== undefined) addSignature(entry, signature);
    return entry;
  });
  const [first] = written;
  if (signsCalls && first !== undefined && first["extra_content"] === undefined) {
    addSignature(first, anySignature);
  }
  return written;
}

function writeCall(call: IrToolCall): JsonObject {
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.input === "" ? "{}" : call.input },
  };
}

/** Messages for a server that takes only some of what OpenAI does. */
function adapted(messages: readonly JsonObject[], quirks: readonly Quirk[]): JsonObject[] {
  const written = quirks.includes("alternate") ? joined(messages) : [...messages];
  const last = written.at(-1);
  for (const message of written) {
    if (quirks.includes("no_name") && message["role"] !== "tool") delete message["name"];
    if (message["role"] !== "assistant") continue;
    if (quirks.includes("reasoning_back") && message["tool_calls"] !== undefined) {
      message["reasoning_content"] ??= "";
    }
    if (quirks.includes("prefix") && message === last && message["tool_calls"] === undefined) {
      message["prefix"] = true;
    }
  }
  return written;
}

/** Neighbours of one role become one message. */
function joined(messages: readonly JsonObject[]): JsonObject[] {
  const written: JsonObject[] = [];
  for (const message of messages) {
    const before = written.at(-1);
    const mayJoin = message["role"] === "user" || message["role"] === "system";
    if (before !== undefined && mayJoin && before["role"] === message["role"]) {
      before["content"] = joinedContent(before["content"] ?? "", message["content"] ?? "");
    } else written.push({ ...message });
  }
  return written;
}

function joinedContent(first: Json, second: Json): Json {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...partsOf(first), ...partsOf(second)];
}

function partsOf(content: Json): Json[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}
