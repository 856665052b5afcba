import type { IrMessage, IrRequest } from "../ir/ir.ts";
import type { Target } from "../provider-dialect.ts";
import { adaptTools } from "../tools/adapt-tools.ts";
import { forceFormat } from "../tools/format-tool.ts";
import { ToolNames } from "../tools/names.ts";
import { pairCallsWithResults } from "../tools/pairing.ts";
import type { DroppedFields } from "./dropped-fields.ts";

export interface AdaptedRequest {
  readonly request: IrRequest;
  /** Maps the answer's tool calls back to the client's tools. */
  readonly names: ToolNames;
  readonly formatTool: string | null;
}

/** Never modified, so it is shared by all conversations without tools. */
const noNames = new ToolNames({ tools: [], messages: [] });

/** Adapts tools, call ids and formats to the target in the intermediate form, so that no writer has to. */
export function adaptRequest(request: IrRequest, target: Target, dropped: DroppedFields): AdaptedRequest {
  if (!mentionsTools(request)) return { ...forceFormat(request, target), names: noNames };
  const names = new ToolNames(request, target.dialect.toolRules);
  const paired = { ...request, messages: pairCallsWithResults(request.messages) };
  const adapted = adaptTools(paired, target, names, dropped);
  return { ...forceFormat(adapted, target), names };
}

/** A conversation without tools, as many are, needs no adapting. */
function mentionsTools(request: IrRequest): boolean {
  if (request.tools.length > 0 || request.toolChoice !== null || request.parallelToolCalls !== null)
    return true;
  return request.messages.some(holdsCallOrResult);
}

function holdsCallOrResult(message: IrMessage): boolean {
  for (const { type } of message.blocks) if (type === "tool_call" || type === "tool_result") return true;
  return false;
}
