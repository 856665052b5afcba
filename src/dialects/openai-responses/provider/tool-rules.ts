import type { ToolRules } from "../../provider-dialect.ts";
import { legalCallId, wordCallIds } from "../../tools/call-id.ts";

export const toolRules: ToolRules = {
  takesFreeform: true,
  definesMentioned: false,
  callId: (id) => legalCallId(id, wordCallIds),
  forcesFormat: () => false,
};
