import type { ToolRules } from "../../provider-dialect.ts";
import { mistralId } from "../../tools/mistral-id.ts";
import { shorten } from "../../tools/names.ts";
import { modelName, takesOutputFormat } from "../../translation/model-traits.ts";
import { canBeForced, familyOf } from "./model-family.ts";

const legalCallId = /^[a-zA-Z0-9_-]{1,64}$/;
const illegalCharacters = /[^a-zA-Z0-9_-]/g;
const maxCallIdCharacters = 64;

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
