import type { JsonObject } from "../../src/base/json.ts";

/** What Claude refuses from the version of 2026 on. */
export function refusedByVersion(body: JsonObject): string | undefined {
  const isOld = String(body["anthropic_version"]).includes("2023-");
  return isOld ? undefined : ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined);
}
