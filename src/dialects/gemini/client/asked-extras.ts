import type { Json, JsonObject } from "../../../base/json.ts";
import { fieldOf, repeated } from "../../../base/proto-json.ts";
import { objectOf, stringOf } from "../../json/json-fields.ts";

/** The tier and the kinds of output by OpenAI's names. */
export function askedExtras(body: JsonObject): JsonObject {
  return {
    service_tier: readTier(stringOf(fieldOf(body, "serviceTier"))),
    modalities: askedOutputs(configOf(body)).map(({ modality }) => modality),
  };
}

/** The client's field that asks for a kind of output. */
export function outputField(body: JsonObject, modality: Json): string {
  const asked = askedOutputs(configOf(body)).find((each) => each.modality === modality);
  return `generationConfig.${asked?.field ?? modalitiesField}`;
}

const modalitiesField = "responseModalities";

interface AskedOutput {
  readonly modality: Json;
  readonly field: string;
}

/** Settings of sound or images ask for them, too. */
export function askedOutputs(config: JsonObject): AskedOutput[] {
  const format = objectOf(fieldOf(config, "responseFormat")) ?? {};
  const settings = [
    { modality: "audio", field: "speechConfig", value: fieldOf(config, "speechConfig") },
    { modality: "audio", field: "responseFormat.audio", value: format["audio"] },
    { modality: "image", field: "imageConfig", value: fieldOf(config, "imageConfig") },
    { modality: "image", field: "responseFormat.image", value: format["image"] },
  ];
  const named = repeated(fieldOf(config, modalitiesField)).map((each) => ({
    modality: typeof each === "string" ? each.toLowerCase() : each,
    field: modalitiesField,
  }));
  return [...named, ...settings.filter(({ value = null }) => value !== null)];
}

function configOf(body: JsonObject): JsonObject {
  return objectOf(fieldOf(body, "generationConfig")) ?? {};
}

const unset: ReadonlySet<string> = new Set(["standard", "unspecified"]);

/** `"flex"`; protos name it `SERVICE_TIER_FLEX`. */
export function readTier(tier: string | null): string | null {
  const name = tier?.toLowerCase().replace(/^service_tier_/, "") ?? null;
  return name !== null && unset.has(name) ? "default" : name;
}
