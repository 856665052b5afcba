import type { ToolRules } from "../../provider-dialect.ts";
import { legalCallId, wordCallIds } from "../../tools/call-id.ts";
import { mistralId } from "../../tools/mistral-id.ts";
import { modelName, takesOutputFormat } from "../../translation/model-traits.ts";
import { canBeForced, familyOf } from "./model-family.ts";

export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: true,
  callId: (id, target) =>
    familyOf(modelName(target)) === "mistral" ? mistralId(id) : legalCallId(id, wordCallIds),
  forcesFormat: (target) => !takesOutputFormat(target) && canBeForced(familyOf(modelName(target))),
};
