import type { Vendor } from "../vendor.ts";
import { DemoProvider } from "./provider.ts";

/**
 * A vendor inside the process, for trying out Sluice without any key. It speaks only chat, so that clients of the other
 * dialects try out the translation, too.
 */
export const demo: Vendor = {
  defaults: {
    dialects: ["chat"],
    maxTokensField: "max_tokens",
    countTokens: false,
    quirks: ["thinking_switch"],
  },
  keys: "none",
  strictDialects: [],
  fieldsOf: [],
  capabilities: { reasoning: true, effort_none: true, structured_output: true },
  baseUrl: { default: "", example: "", pathWarning: () => null },
  meteredFormats: () => ["openai"],
  create: (settings) => new DemoProvider(settings),
};
