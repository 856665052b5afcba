import type { ToolRules } from "../../provider-dialect.ts";
import { shorten } from "../../tools/names.ts";

const maxCallIdChars = 64;

export const toolRules: ToolRules = {
  takesFreeform: true,
  definesMentioned: false,
  callId: (id) => (id.length > maxCallIdChars ? shorten(id, id, maxCallIdChars) : id),
  forcesFormat: () => false,
};
