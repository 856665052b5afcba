import { type DroppedFields, reject } from "../contract/field-decisions.ts";
import type { Target } from "../contract/provider-dialect.ts";
import type {
  IrAssistantBlock,
  IrHostedTool,
  IrMessage,
  IrRequest,
  IrTool,
  IrToolChoice,
  IrUserBlock,
  ToolRef,
} from "../ir/ir.ts";
import { originalCallId } from "./call-id.ts";
import { asFunction, wrapInput } from "./custom-input.ts";
import type { ToolNames } from "./names.ts";
import { functionTool } from "./schema.ts";
import { isSearch, searchName } from "./web-search.ts";

/** Adapts tools, tool choice and history to the target. */
export function adaptTools(
  request: IrRequest,
  target: Target,
  names: ToolNames,
  dropped: DroppedFields,
): IrRequest {
  const freeform = target.dialect.toolRules.takesFreeform;
  const offered = restrict(withoutHosted(request, target, dropped), freeform, dropped);
  const tools = offered.tools.map((tool) => adaptTool(tool, names, freeform));
  const messages = adaptMessages(offered.messages, target, names, freeform);
  if (tools.length === 0) return withoutTools({ ...offered, messages }, target);
  const choice = offered.toolChoice;
  return { ...offered, tools, messages, toolChoice: choice === null ? null : adaptChoice(choice, names) };
}

/** Drops another provider's hosted tools, except for a web search if this one has it too. Throws if the tool choice requires one. */
function withoutHosted(request: IrRequest, target: Target, dropped: DroppedFields): IrRequest {
  const hosted = request.tools.filter((tool) => tool.type === "hosted");
  const choice = request.toolChoice;
  const search = target.webSearches === undefined ? undefined : hosted.find(hasSearch);
  const isKept = search !== undefined && !request.tools.some(isNamedLikeSearch);
  if (choice?.type === "hosted" && !(isKept && isSearch(choice.name)))
    reject(
      dropped.names.toolChoice,
      `requires "${choice.name}", which this model's provider does not support`,
    );
  if (hosted.length === 0) return request;
  const tools = request.tools.filter((tool) => tool.type !== "hosted" || (isKept && tool === search));
  if (tools.length === 0 && choice?.type === "required") {
    reject(
      hosted[0]?.path ?? "tools",
      "is not supported by this model's provider, but `tool_choice` requires a tool",
    );
  }
  for (const tool of hosted) {
    if (!tools.includes(tool)) dropped.add(tool.shownAs);
    else for (const name of tool.search?.others ?? []) dropped.add(name);
  }
  return { ...request, tools };
}

function hasSearch({ search }: IrHostedTool): boolean {
  return search !== undefined;
}

/** Anthropic's search has a name, which no tool of the client may have then. */
function isNamedLikeSearch(tool: IrTool): boolean {
  return tool.type !== "hosted" && tool.name === searchName;
}

/** Only Responses can offer all tools and allow some; elsewhere the others are removed. */
function restrict(request: IrRequest, keepsAllowed: boolean, dropped: DroppedFields): IrRequest {
  const choice = request.toolChoice;
  if (choice?.type !== "allowed" || keepsAllowed) return request;
  const isAllowed = ({ name, namespace }: ToolRef) =>
    choice.tools.some((ref) => ref.name === name && ref.namespace === namespace);
  for (const tool of request.tools) if (tool.type === "hosted") dropped.add(tool.shownAs);
  const tools = request.tools.filter((tool) => tool.type !== "hosted" && isAllowed(tool));
  return { ...request, tools, toolChoice: { type: choice.mode } };
}

function adaptTool(tool: IrTool, names: ToolNames, freeform: boolean): IrTool {
  if (tool.type === "hosted") return tool;
  const name = names.provider(tool);
  if (tool.type === "custom" && freeform) return { ...tool, name, namespace: null };
  const plain = tool.type === "custom" ? asFunction(tool) : tool;
  return { ...plain, kind: "function", name, namespace: null };
}

function adaptChoice(choice: IrToolChoice, names: ToolNames): IrToolChoice {
  if (choice.type === "tool") return { type: "tool", name: names.provider(choice), namespace: null };
  if (choice.type !== "allowed") return choice;
  return { ...choice, tools: choice.tools.map((ref) => ({ name: names.provider(ref), namespace: null })) };
}

function adaptMessages(
  messages: readonly IrMessage[],
  target: Target,
  names: ToolNames,
  freeform: boolean,
): IrMessage[] {
  const callId = (id: string) => target.dialect.toolRules.callId(originalCallId(id), target);
  const adaptCall = (block: IrAssistantBlock): IrAssistantBlock => {
    if (block.type !== "tool_call") return block;
    const adapted = { ...block, id: callId(block.id), name: names.provider(block), namespace: null };
    if (block.kind === "function" || (block.kind === "custom" && freeform)) return adapted;
    return {
      ...adapted,
      kind: "function",
      input: block.kind === "custom" ? wrapInput(block.input) : block.input,
    };
  };
  const adaptResult = (block: IrUserBlock): IrUserBlock => {
    if (block.type !== "tool_result") return block;
    const kind = block.kind === "custom" && freeform ? "custom" : "function";
    return { ...block, id: callId(block.id), kind };
  };
  return messages.map((message) => {
    if (message.role === "assistant") return { ...message, blocks: message.blocks.map(adaptCall) };
    return message.role === "user" ? { ...message, blocks: message.blocks.map(adaptResult) } : message;
  });
}

/**
 * Without tools there is nothing to choose. Anthropic still requires a definition of every tool in the history; the
 * choice `none` keeps the model from calling them.
 */
function withoutTools(request: IrRequest, target: Target): IrRequest {
  const bare = { ...request, tools: [], toolChoice: null, parallelToolCalls: null };
  const mentioned = target.dialect.toolRules.definesMentioned ? mentionedTools(request.messages) : [];
  return mentioned.length === 0 ? bare : { ...bare, tools: mentioned, toolChoice: { type: "none" } };
}

function mentionedTools(messages: readonly IrMessage[]): IrTool[] {
  const called = new Set<string>();
  for (const message of messages) {
    for (const block of message.blocks) if (block.type === "tool_call") called.add(block.name);
  }
  return [...called].map((name) => functionTool(name, null, null));
}
