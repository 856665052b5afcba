import type { ToolRules } from "../../provider-dialect.ts";
import { shorten } from "../../tools/names.ts";
import { takesOutputFormat } from "../../translation/model-traits.ts";

const legalCallId = /^[a-zA-Z0-9_-]+$/;
const illegalChars = /[^a-zA-Z0-9_-]/g;
const maxCallIdChars = 64;

export const toolRules: ToolRules = {
  takesFreeform: false,
  definesMentioned: true,
  callId: (id) => (legalCallId.test(id) ? id : shorten(id.replace(illegalChars, "_"), id, maxCallIdChars)),
  forcesFormat: (target) => !takesOutputFormat(target),
};
