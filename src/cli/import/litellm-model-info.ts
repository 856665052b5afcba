import { isObject, type JsonObject } from "../../base/json.ts";
import { statedCapability } from "./imported.ts";

const textModes: ReadonlySet<string | null> = new Set([null, "chat", "completion", "responses"]);
/** Models of the large vendors for other things than text, which most configurations give no mode. */
const otherNames =
  /(?:^|[-/.])(?:text-embedding|embed|embedding|dall-e|gpt-image|imagen|whisper|tts|transcribe|rerank|moderation)(?:[-./:\d]|$)/i;

/** Why a model of LiteLLM's has no place here, which is for the generation of text; null if it has. */
export function otherPurpose(upstream: string, info: unknown): string | null {
  const mode = isObject(info) ? textOf(info["mode"]) : null;
  if (!textModes.has(mode)) return `its mode is ${mode}, which is not text generation`;
  const name = upstream.slice(upstream.indexOf("/") + 1);
  return mode === null && otherNames.test(name) ? `${name} does not generate text` : null;
}

/** The model behind a deployment of one's own, as `azure/gpt-5.6`. */
export function baseModel(info: JsonObject, parameters: JsonObject): string | null {
  const base = textOf(info["base_model"]) ?? textOf(parameters["base_model"]);
  return base === null ? null : base.slice(base.lastIndexOf("/") + 1);
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
  const stated = Object.entries(names).map(([theirs, ours]) => statedCapability(ours, info[theirs]));
  return Object.assign({}, ...stated);
}
