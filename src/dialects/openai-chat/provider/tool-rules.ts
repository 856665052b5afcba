import type { ToolRules } from "../../provider-dialect.ts";
import { mistralId } from "../../tools/mistral-id.ts";
import { shorten } from "../../tools/names.ts";

const maxCallIdChars = 40;

/** OpenAI takes ids of at most 40 characters; others invent freely (`functions.Bash:0`) and take what they invented. */
export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: false,
  callId: (id, target) => {
    if (target.quirks?.includes("ids9") === true) return mistralId(id);
    return target.isStrict && id.length > maxCallIdChars ? shorten(id, id, maxCallIdChars) : id;
  },
  forcesFormat: () => false,
};
