import type { ToolRules } from "../../provider-dialect.ts";
import { legalCallId, shortCallIds } from "../../tools/call-id.ts";
import { mistralId } from "../../tools/mistral-id.ts";

/** Only OpenAI limits the length of ids; others take what they have invented. */
export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: false,
  callId: (id, target) => {
    if (target.quirks?.includes("ids9") === true) return mistralId(id);
    return target.isStrict ? legalCallId(id, shortCallIds) : id;
  },
  forcesFormat: () => false,
};
