import type { JsonObject } from "../../../base/json.ts";
import { objectOf, stringOf } from "../../json/json-fields.ts";
import { fieldOf, repeated } from "./proto-json.ts";

/** The tier and the kinds of output by OpenAI's names. */
export function askedExtras(body: JsonObject): JsonObject {
  const config = objectOf(fieldOf(body, "generationConfig")) ?? {};
  const modalities = repeated(fieldOf(config, "responseModalities"));
  return {
    service_tier: readTier(stringOf(fieldOf(body, "serviceTier"))),
    modalities: modalities.map((each) => (typeof each === "string" ? each.toLowerCase() : each)),
  };
}

const unset: ReadonlySet<string> = new Set(["standard", "unspecified"]);

/** `"flex"`; protos name it `SERVICE_TIER_FLEX`. */
export function readTier(tier: string | null): string | null {
  const name = tier?.toLowerCase().replace(/^service_tier_/, "") ?? null;
  return name !== null && unset.has(name) ? "default" : name;
}
