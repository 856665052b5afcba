import type { Target } from "./codec.ts";
import { forceFormat } from "./format-tool.ts";
import type { IrRequest } from "./ir.ts";
import type { Notes } from "./notes.ts";
import { fitTools } from "./tools/fit-tools.ts";
import { ToolNames } from "./tools/names.ts";
import { pairCallsWithResults } from "./tools/pairing.ts";

export interface Fitted {
  readonly request: IrRequest;
  /** What is needed to read the answer in the client's terms again. */
  readonly names: ToolNames;
  readonly formatTool: string | null;
}

/** What every target needs, done once in the intermediate form, so that no writer has to. */
export function fit(request: IrRequest, target: Target, notes: Notes): Fitted {
  const names = new ToolNames(request);
  const paired = { ...request, messages: pairCallsWithResults(request.messages) };
  const fitted = fitTools(paired, target, names, notes);
  return { ...forceFormat(fitted, target), names };
}
