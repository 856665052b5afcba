import type { IrRequest } from "../ir/ir.ts";
import type { Target } from "../provider-dialect.ts";
import { functionTool } from "./schema.ts";

const name = "answer_in_format";

export interface Forced {
  readonly request: IrRequest;
  /** The tool whose input is the answer's text; null if the target supports formats. */
  readonly formatTool: string | null;
}

/**
 * Makes a model without structured outputs answer through a tool whose schema is the format. If the client has tools of
 * its own, the model may call those first, but it has to call one.
 */
export function forceFormat(request: IrRequest, target: Target): Forced {
  const { format } = request;
  if (format?.type !== "json_schema" || !target.dialect.toolRules.forcesFormat(target, request)) {
    return { request, formatTool: null };
  }
  const description = format.description ?? "Gives the final answer. Its input is shown to the user.";
  const tool = functionTool(name, description, format.schema);
  const free = request.tools.length === 0 || request.toolChoice?.type === "none";
  return {
    request: {
      ...request,
      format: null,
      tools: free ? [tool] : [...request.tools, tool],
      toolChoice: free ? { type: "tool", namespace: null, name } : { type: "required" },
    },
    formatTool: name,
  };
}
