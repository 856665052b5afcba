import type { Json } from "../../base/json.ts";

/** The namespace of a tool, which only Codex uses; null for a tool that has none. */
export function namespaceOf(name: Json | undefined): string | null {
  return typeof name === "string" && name !== "" ? name : null;
}
