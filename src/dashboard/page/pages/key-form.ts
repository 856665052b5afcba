import type { KeyView } from "../../../admin/key-terms/schema.ts";
import {
  type AttributeKind,
  type KeyAttribute,
  type KeyAttributeName,
  keyAttributeList,
  keyAttributeNames,
  keyAttributes,
} from "../../../base/key-attributes.ts";
import { type TpmLimit, tpmFromText, tpmText } from "../../../base/models/tpm-limit.ts";
import { ownAccountId } from "../../../base/own-account.ts";
import { type Tags, tagsFromTexts, tagsText } from "../../../base/requests/labels.ts";
import { commaInCredits, creditsFromText, wholeFromText } from "../../../base/text/typed-number.ts";

/** An attribute of a key, by the name of its option. */
export type KeyField = (typeof keyAttributes)[KeyAttributeName]["option"];

/** Fields shared by the forms for a new and for an existing key: texts as typed, converted to the request. */
export type KeyForm = Readonly<Record<KeyField, string>>;

interface FieldText {
  readonly label: string;
  readonly placeholder?: string;
  readonly hint?: string;
  /** Its name in error messages, if not the label. */
  readonly subject?: string;
}

export const fieldTexts: Readonly<Record<KeyField, FieldText>> = {
  label: { label: "Label", placeholder: "Who or what uses it" },
  owner: { label: "Owner", placeholder: "An e-mail address, or any name" },
  budget: { label: "Token budget", placeholder: "no limit", subject: "The token budget" },
  period: { label: "Resets" },
  provider: { label: "Provider scope" },
  rpm: { label: "Requests per minute", placeholder: "no limit" },
  tpm: {
    label: "Tokens per minute",
    placeholder: "no limit",
    hint: "60000 for all models, 20000:claude-opus-* for some; separate with commas.",
  },
  "max-concurrent": { label: "Requests in flight", placeholder: "no limit" },
  tag: {
    label: "Default tags",
    placeholder: "project=atlas, env=prod",
    hint: "For requests that do not have these tags.",
  },
  tools: {
    label: "Hosted tools",
    hint: "Tools that the provider runs and bills by the call. A token budget does not pay for them.",
  },
  "user-headers": {
    label: "End users",
    hint: "For a program that many people use, such as a chat interface. The configuration lists the headers.",
  },
  models: { label: "Models", hint: "Select none to allow all." },
  expires: { label: "Expires", hint: "At the end of that day, UTC; empty means never." },
  content: {
    label: "Request content",
    hint: "Prompts and responses of everyone who uses the key. Admins can read them, so tell these people. It has an effect only with [content] in the configuration.",
  },
};

/** Labels for how often a budget renews. */
export const budgetPeriods = [
  { value: "day", text: "daily" },
  { value: "week", text: "weekly" },
  { value: "month", text: "monthly" },
  { value: "none", text: "never" },
];

export const capPeriods = budgetPeriods.filter(({ value }) => value !== "none");

export const toolsChoices = [
  { value: "false", text: "free ones only" },
  { value: "true", text: "all that have a price" },
];

export const userHeaderChoices = [
  { value: "false", text: "as the request says" },
  { value: "true", text: "from the program's header" },
];

/** The choices of what is recorded of a key's requests. */
export const contentChoices = [
  { value: "", text: "default" },
  { value: "none", text: "never" },
  { value: "failed", text: "only requests that fail" },
  { value: "all", text: "all" },
];

export const fieldRows: readonly (readonly KeyField[])[] = [
  ["label"],
  ["owner"],
  ["budget", "period"],
  ["provider", "rpm"],
  ["tpm", "max-concurrent"],
  ["models"],
  ["expires"],
  ["tools"],
  ["user-headers"],
  ["content"],
  ["tag"],
];

export function kindOf(field: KeyField): AttributeKind | undefined {
  return keyAttributeList.find(({ option }) => option === field)?.kind;
}

/** Whether a key of this mode has the attribute. Only a token-budget key with its own account has a budget. */
export function hasField(field: KeyField, mode: KeyView["mode"], isShared: boolean): boolean {
  const attribute: KeyAttribute | undefined = keyAttributeList.find(({ option }) => option === field);
  if (attribute?.table === "keys") return attribute.mode === undefined || attribute.mode === mode;
  return mode === "token_budget" && !isShared;
}

/** Whether the key's account is shared. */
export function isShared({ id, account }: KeyView): boolean {
  return account !== ownAccountId(id);
}

export const emptyKeyForm: KeyForm = formWith((name) => keyAttributes[name].unset, "month");

export function formOf(key: KeyView): KeyForm {
  const { tokens = null, period = "month" } = key.budget ?? {};
  const attributes = { ...key, budget_tokens: tokens, period };
  return formWith((name) => attributes[name], period);
}

function formWith(attributeOf: (name: KeyAttributeName) => unknown, period: string): KeyForm {
  const texts = keyAttributeNames.map((name) => {
    const { option, kind } = keyAttributes[name];
    return [option, textOf(kind, attributeOf(name))];
  });
  return { ...Object.fromEntries(texts), period };
}

function textOf(kind: AttributeKind, value: unknown): string {
  if (value === null) return "";
  // Each has the form that the schema of its kind describes.
  if (kind === "tpm") return tpmText(value as readonly TpmLimit[]);
  if (kind === "tags") return tagsText(value as Tags);
  if (Array.isArray(value)) return value.join(", ");
  return kind === "moment" ? String(value).slice(0, 10) : String(value);
}

/** Throws for text that is not a whole number, before anything is sent. */
export function wholeOrNull(text: string, field: string): number | null {
  if (text.trim() === "") return null;
  const value = wholeFromText(text);
  if (value === null) throw new Error(`${field} must be a whole number, such as 60 or 1,000,000.`);
  return value;
}

export function creditsOf(text: string): number {
  const value = creditsFromText(text);
  if (value === null) throw new Error(`"${text}" is not an amount of credits. ${commaInCredits}`);
  return value;
}

export function hoursOf(text: string): number {
  const value = creditsFromText(text);
  if (value === null || value < 0) throw new Error("The hours must be a number, such as 0 or 1.5.");
  return value;
}

export function requestOf(form: KeyForm, mode: KeyView["mode"], isShared: boolean): Record<string, unknown> {
  const had = keyAttributeNames.filter((name) => hasField(keyAttributes[name].option, mode, isShared));
  return Object.fromEntries(had.map((name) => [name, requested(keyAttributes[name].option, form)]));
}

function listed(text: string): readonly string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

/** Typed limits of tokens per minute; null if there are none. */
export function tpmOf(text: string): readonly TpmLimit[] | null {
  const limits = listed(text).map((each) => {
    const tpm = tpmFromText(each);
    if (tpm === null) throw new Error(`"${each}" is not a limit. Enter 60000 or 20000:claude-opus-*.`);
    return tpm;
  });
  return limits.length === 0 ? null : limits;
}

/** Typed tags; null if there are none. */
export function tagsOf(text: string): Tags | null {
  const texts = listed(text);
  if (texts.length === 0) return null;
  const tags = tagsFromTexts(texts);
  if (tags === null) throw new Error("Enter at most 8 tags, as in project=atlas, env=prod.");
  return tags;
}

function requested(field: KeyField, form: KeyForm): unknown {
  const text = form[field].trim();
  const { label, subject = label } = fieldTexts[field];
  switch (kindOf(field)) {
    case "provider":
    case "period":
      return text;
    case "models": {
      const chosen = listed(text);
      return chosen.length === 0 ? null : chosen;
    }
    case "tpm":
      return tpmOf(text);
    case "tags":
      return tagsOf(text);
    case "count":
    case "positive":
      return wholeOrNull(text, subject);
    case "flag":
      return text === "true";
    case "moment":
      return text === "" ? null : new Date(`${text}T23:59:59Z`).toISOString();
    default:
      return text === "" ? null : text;
  }
}
