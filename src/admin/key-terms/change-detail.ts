import { type KeyAttribute, type KeyAttributes, keyAttributeList } from "../../base/key-attributes.ts";
import { tpmText } from "../../base/models/tpm-limit.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { ownAccountId } from "../../base/own-account.ts";
import { type Tags, tagsText } from "../../base/requests/labels.ts";
import { plural } from "../../base/text/plural.ts";
import type { AccountRecord, CapLimit, KeyRecord } from "../../store/store.ts";
import { capsText } from "./cap-text.ts";

const maxValueLength = 200;

/** The audit text of a new key: its credit or account, and all its limits. */
export function creationDetail(key: KeyRecord, creditNano: number): string {
  const limits = keyAttributeList
    .filter(({ kind, table, field, unset }) => kind !== "text" && table === "keys" && key[field] !== unset)
    .map((attribute) => `${attribute.option} ${valueText(attribute, key)}`);
  if (key.caps.length > 0) limits.push(`caps ${capsText(key.caps, key.mode)}`);
  return [key.mode, payer(key, creditNano), ...limits].join(", ");
}

function payer(key: KeyRecord, creditNano: number): string {
  if (key.accountId !== ownAccountId(key.id)) return key.accountId;
  return key.isPostpaid ? "postpaid" : spendable(key, creditNano);
}

function spendable(
  { mode, budgetTokens, period }: Pick<AccountRecord, "mode" | "budgetTokens" | "period">,
  creditNano: number,
): string {
  if (mode === "credit") return creditsText(creditNano);
  const tokens = budgetTokens === null ? "no limit" : plural(budgetTokens, "token", "tokens", String);
  return period === "none" ? tokens : `${tokens} a ${period}`;
}

export function creditsText(nano: number): string {
  return plural(creditsFromNano(nano), "credit", "credits", String);
}

/** The audit text of a changed key: each limit before and after. */
export function updateDetail(before: KeyRecord, after: KeyRecord): string {
  const changes = keyAttributeList.flatMap((attribute) => {
    const [was, is] = [valueText(attribute, before), valueText(attribute, after)];
    if (was === is) return [];
    // A text may be a person's name, so its value is not written.
    return [attribute.kind === "text" ? attribute.option : `${attribute.option} ${was} → ${is}`];
  });
  const [were, are] = [capsText(before.caps, before.mode), capsText(after.caps, after.mode)];
  if (were !== are) changes.push(`caps ${were} → ${are}`);
  return changes.join(", ") || "nothing changed";
}

function valueText({ field, kind, none }: KeyAttribute, key: KeyRecord): string {
  const value = key[field];
  if (value === null) return none ?? "none";
  if (kind === "moment") return new Date(Number(value)).toISOString();
  return attributeText(value).slice(0, maxValueLength);
}

/** A value as an operator writes it. */
function attributeText(value: Exclude<KeyAttributes[keyof KeyAttributes], null>): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return String(value);
  if (!Array.isArray(value)) return tagsText(value as Tags);
  const [first] = value;
  return typeof first === "string" ? value.join(" ") : tpmText(value);
}

/** The audit text of a new account: its credit, its caps, and the caps of its new keys. */
export function accountCreationDetail(account: AccountRecord, creditNano: number): string {
  const { mode, isPostpaid, caps, keyCaps, content, tags, tpmLimits } = account;
  const parts = [
    mode,
    isPostpaid ? "postpaid" : spendable(account, creditNano),
    ...namedCaps("caps", caps, account),
    ...namedCaps("caps of new keys", keyCaps, account),
    ...(content === null ? [] : [`content ${content}`]),
    ...(tpmLimits === null ? [] : [`tpm ${tpmText(tpmLimits)}`]),
    ...(tags === null ? [] : [`tag ${tagsText(tags)}`]),
  ];
  return parts.join(", ");
}

function namedCaps(name: string, caps: readonly CapLimit[], { mode }: AccountRecord): string[] {
  return caps.length === 0 ? [] : [`${name} ${capsText(caps, mode)}`];
}

/** The audit text of a changed account: each term before and after. */
export function accountUpdateDetail(before: AccountRecord, after: AccountRecord): string {
  const was = terms(before);
  const is = terms(after);
  const changes = [...is].flatMap(([name, value]) =>
    value === was.get(name) ? [] : [`${name} ${was.get(name)} → ${value}`],
  );
  // A label may be a person's name, so its value is not written.
  if (before.label !== after.label) changes.unshift("label");
  return changes.join(", ") || "nothing changed";
}

function terms(account: AccountRecord): Map<string, string> {
  const { mode, isPostpaid, budgetTokens, period, caps, keyCaps, content, tags, tpmLimits } = account;
  return new Map([
    ["postpaid", isPostpaid ? "yes" : "no"],
    ["budget", String(budgetTokens ?? "none")],
    ["period", period],
    ["caps", capsText(caps, mode)],
    ["caps of new keys", capsText(keyCaps, mode)],
    ["content", content ?? "default"],
    ["tpm", tpmLimits === null ? "none" : tpmText(tpmLimits)],
    ["tag", tags === null ? "none" : tagsText(tags)],
  ]);
}
