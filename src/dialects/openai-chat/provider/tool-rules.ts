import type { ToolRules } from "../../provider-dialect.ts";
import { shorten } from "../../tools/names.ts";

const maxCallIdChars = 40;

/** OpenAI takes ids of at most 40 characters; others invent freely (`functions.Bash:0`) and take what they invented. */
export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: false,
  callId: (id, target) => {
    if (target.quirks?.includes("ids9") === true) return nineChars(id);
    return target.isStrict && id.length > maxCallIdChars ? shorten(id, id, maxCallIdChars) : id;
  },
  forcesFormat: () => false,
};

/** Mistral takes nothing else. */
function nineChars(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  return Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
