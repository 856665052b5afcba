import type { Json } from "../../base/json.ts";
import type { ValuePath } from "../json/remove-values.ts";

/** Tools that a request offers, at the top level or inside the conversation. */
export interface ToolList {
  readonly path: ValuePath;
  readonly tools: readonly Json[];
  /** `path` is the only tool's own. */
  readonly isSingle?: true;
  /** Defined within the conversation. */
  readonly isInMessage?: true;
}
