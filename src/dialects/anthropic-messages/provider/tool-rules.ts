import type { ToolRules } from "../../provider-dialect.ts";
import { legalCallId, wordCallIds } from "../../tools/call-id.ts";
import { takesOutputFormat } from "../../translation/model-traits.ts";

export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: true,
  callId: (id) => legalCallId(id, wordCallIds),
  forcesFormat: (target) => !takesOutputFormat(target),
};
