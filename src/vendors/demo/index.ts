import { clientDialectNames, isSpoken, providerDialectNames } from "../../dialects/registry.ts";
import type { Vendor } from "../vendor.ts";
import { DemoProvider } from "./provider.ts";

/** A vendor inside the process, for trying Sluice out without any key. Its models take whatever is asked of them. */
export const demo: Vendor = {
  defaults: {
    dialects: clientDialectNames.filter((name) => isSpoken(name, providerDialectNames)),
    maxTokensField: "max_tokens",
    countTokens: false,
  },
  keys: "none",
  strictDialects: [],
  capabilities: { reasoning: true, effort_none: true, structured_output: true },
  baseUrl: { default: "", example: "", pathWarning: () => null },
  meteredFormats: () => ["openai"],
  create: (settings) => new DemoProvider(settings),
};
