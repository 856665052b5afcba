import type { PublicModel } from "./public-model.ts";

/** The length at which Codex truncates tool output for models that it does not know. */
const toolOutput = { mode: "bytes", limit: 10_000 };

/** A model as Codex reads it. Properties that are unknown here, such as how it reasons, are not sent to Codex. */
export function codexModel({ id, display_name, context_window }: PublicModel, place: number) {
  return {
    slug: id,
    display_name,
    supported_reasoning_levels: [],
    shell_type: "default",
    visibility: "list",
    supported_in_api: true,
    priority: place,
    support_verbosity: false,
    truncation_policy: toolOutput,
    experimental_supported_tools: [],
    ...(context_window === null ? {} : { context_window }),
  };
}
