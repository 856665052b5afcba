import type { ToolRules } from "../../provider-dialect.ts";
import { shorten } from "../../tools/names.ts";
import { modelName, takesOutputFormat } from "../../translation/model-traits.ts";
import { canBeForced, familyOf } from "./model-family.ts";

const legalCallId = /^[a-zA-Z0-9_-]{1,64}$/;
const illegalCharacters = /[^a-zA-Z0-9_-]/g;
const maxCallIdCharacters = 64;
const legalMistralId = /^[a-zA-Z0-9]{9}$/;

export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: true,
  callId: (id, target) => (familyOf(modelName(target)) === "mistral" ? mistralId(id) : callId(id)),
  forcesFormat: (target) => !takesOutputFormat(target) && canBeForced(familyOf(modelName(target))),
};

function callId(id: string): string {
  if (legalCallId.test(id)) return id;
  return shorten(id.replace(illegalCharacters, "_"), id, maxCallIdCharacters);
}

/** Mistral's models take nine letters and digits and nothing else. */
function mistralId(id: string): string {
  if (legalMistralId.test(id)) return id;
  return Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
