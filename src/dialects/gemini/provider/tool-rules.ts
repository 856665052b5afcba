import type { ToolRules } from "../../provider-dialect.ts";
import { takesFormatWithTools } from "./model.ts";

export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: false,
  callId: (id) => id,
  forcesFormat: (target, { tools }) => tools.length > 0 && !takesFormatWithTools(target),
  namesBeginWithLetter: true,
};
