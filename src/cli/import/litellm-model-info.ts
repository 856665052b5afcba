import type { JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { statedCapability } from "./imported.ts";
import { useOfMode } from "./litellm-metered.ts";
import { useByName } from "./use-by-name.ts";

/** What a model in LiteLLM's configuration serves; null if Sluice has no route for its mode. */
export function useOf(upstream: string, info: JsonObject): ModelUse | null {
  const mode = textOf(info["mode"]);
  if (mode !== null) return useOfMode(mode);
  return useByName(upstream.slice(upstream.indexOf("/") + 1));
}

/**
 * The model behind a custom deployment name, such as `azure/gpt-5.6`, with the data zone whose price it has:
 * `eu/gpt-5.6`.
 */
export function baseModel(info: JsonObject, parameters: JsonObject): string | null {
  const base = textOf(info["base_model"]) ?? textOf(parameters["base_model"]);
  return base === null ? null : (/(?:(?<=^|\/)(?:eu|us)\/)?[^/]*$/.exec(base)?.[0] ?? base);
}

export function withoutZone(model: string): string {
  return model.replace(/^(?:eu|us)\//, "");
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function capabilitiesOf(info: JsonObject): Record<string, boolean> {
  const names = {
    supports_function_calling: "tools",
    supports_vision: "vision",
    supports_reasoning: "reasoning",
    supports_response_schema: "structured_output",
  };
  const capabilities = Object.entries(names).map(([liteLlmName, capability]) =>
    statedCapability(capability, info[liteLlmName]),
  );
  return Object.assign({}, ...capabilities);
}
