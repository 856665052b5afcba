import {
  type AttributeKind,
  budgetPeriods,
  type KeyMode,
  type KeyUpdate,
  keyAttributeList,
  maxRequestLimit,
} from "../../base/key-attributes.ts";
import { areTpmLimits, type TpmLimit } from "../../base/models/tpm-limit.ts";
import { contentLevels } from "../../base/requests/content-level.ts";
import { type Tags, tagsFromTexts, tagsText } from "../../base/requests/labels.ts";
import { directionControls } from "../../base/text/printable.ts";
import { invalidInput } from "../context.ts";

const maxTextLength = 200;
const maxNameLength = 128;

/** Whether an attribute of this kind accepts the value. Null, which removes a value, is not checked. */
const isValid: Readonly<Record<AttributeKind, (value: unknown, nowMs: number) => boolean>> = {
  text: (value) => isLine(value, maxTextLength),
  name: (value) => isLine(value, maxNameLength),
  provider: (value) => /^[a-z0-9][a-z0-9_-]*$/.test(String(value)),
  models: (value) => Array.isArray(value) && value.length > 0 && !value.includes(""),
  positive: (value) => isWhole(value, 1, maxRequestLimit),
  count: (value) => isWhole(value, 0),
  period: (value) => budgetPeriods.some((period) => period === value),
  moment: (value, nowMs) => isWhole(value, nowMs + 1),
  content: (value) => contentLevels.some((level) => level === value),
  // The casts hold because both come from a checked body or a parser.
  tpm: (value) => areTpmLimits(value as readonly TpmLimit[]),
  flag: (value) => typeof value === "boolean",
  tags: (value) => tagsFromTexts(tagsText(value as Tags).split(", ")) !== null,
};

function isLine(value: unknown, most: number): boolean {
  const text = String(value);
  return text.length <= most && !/[\p{Cc}\u2028\u2029]/u.test(text) && !directionControls.test(text);
}

function isWhole(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

export function checkKeyFields(update: KeyUpdate, nowMs: number): void {
  for (const { field, kind, rule } of keyAttributeList) {
    const value = update[field];
    if (value != null && !isValid[kind](value, nowMs)) throw invalidInput(rule);
  }
}

/** Throws for an attribute that keys of this mode do not have. */
export function checkKeyMode(update: KeyUpdate, keyMode: KeyMode): void {
  for (const { field, mode, unset, rule } of keyAttributeList) {
    const isForeign = mode !== undefined && mode !== keyMode;
    if (isForeign && (update[field] ?? unset) !== unset) throw invalidInput(rule);
  }
}
