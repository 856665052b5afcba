import type { TpmLimit } from "./models/tpm-limit.ts";
import { type ContentLevel, contentLevels } from "./requests/content-level.ts";
import type { Tags } from "./requests/labels.ts";

export const keyModes = ["credit", "token_budget"] as const;
export type KeyMode = (typeof keyModes)[number];

/** The path prefix of the interface for keys of each mode. */
export const modeOrigins: Readonly<Record<KeyMode, string>> = { credit: "", token_budget: "/token" };

/** The calendar periods of limits, in the order of `periodStarts`. */
export const capPeriods = ["day", "week", "month"] as const;

export const budgetPeriods = [...capPeriods, "none"] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** The attributes of a key that an operator sets. Its status and secrets are changed by separate operations. */
export interface KeyAttributes {
  readonly label: string | null;
  /** Who it belongs to: an e-mail address, or any name. */
  readonly owner: string | null;
  /** With the period, a term of the account that the key is billed to. Null means no limit, as everywhere here. */
  readonly budgetTokens: number | null;
  readonly period: BudgetPeriod;
  readonly rpmLimit: number | null;
  readonly tpmLimits: readonly TpmLimit[] | null;
  readonly maxConcurrent: number | null;
  /** A provider's name, or `all`. */
  readonly scope: string;
  readonly models: readonly string[] | null;
  readonly expiresAtMs: number | null;
  /** The most content that can be recorded of its requests; null: as configured. */
  readonly content: ContentLevel | null;
  /** Tags for its requests that do not set the same tag themselves. */
  readonly tags: Tags | null;
  /** Hosted tools that cost money are sent although a token budget does not pay for them. No effect on credit keys. */
  readonly tools: boolean;
  /** Whether it belongs to a program that many people use, which names them in one of `server.user_headers`. */
  readonly userHeaders: boolean;
}

/** A subset of the attributes; absent or undefined ones stay unchanged. */
export type KeyUpdate = { readonly [Field in keyof KeyAttributes]?: KeyAttributes[Field] | undefined };

/** Decides how a value is stored, checked, written as JSON and typed on the command line. */
export type AttributeKind =
  | "text"
  | "name"
  | "provider"
  | "models"
  | "positive"
  | "count"
  | "period"
  | "moment"
  | "content"
  | "tpm"
  | "tags"
  | "flag";

export interface KeyAttribute {
  readonly field: keyof KeyAttributes;
  readonly kind: AttributeKind;
  /** The table that has its column, which is named after the field. */
  readonly table: "keys" | "accounts";
  /** Only keys of this mode have it. */
  readonly mode?: KeyMode;
  /** The value of a key that did not set one. */
  readonly unset: KeyAttributes[keyof KeyAttributes];
  /** The option of the command line, which the audit log calls it by. */
  readonly option: string;
  /**
   * The values that the option accepts, and the word for `unset`. A flag accepts no value, and has an opposite
   * (`--no-tools`).
   */
  readonly takes: string;
  readonly none?: string;
  readonly help: { readonly create: string; readonly update: string };
  /** Describes valid values, for the error message. */
  readonly rule: string;
}

/** Limits that count requests. Both stores hold this: PostgreSQL's columns are 32-bit integers. */
export const maxRequestLimit = 1_000_000_000;

/**
 * Every attribute of a key, by its name in the admin API. The columns in both databases, the API's schemas, the options of the
 * command line, the checks and the audit log follow from this table.
 */
export const keyAttributes = {
  label: {
    field: "label",
    kind: "text",
    table: "keys",
    unset: null,
    option: "label",
    takes: "text",
    none: "",
    help: { create: "display name", update: 'display name; "" removes it' },
    rule: "a label is one line of at most 200 characters, without control characters",
  },
  owner: {
    field: "owner",
    kind: "name",
    table: "keys",
    unset: null,
    option: "owner",
    takes: "who",
    none: "",
    help: {
      create: "who it belongs to: an e-mail address, or any name",
      update: 'who it belongs to; "" removes it',
    },
    rule: "an owner is one line of at most 128 characters, without control characters",
  },
  budget_tokens: {
    field: "budgetTokens",
    kind: "count",
    table: "accounts",
    unset: null,
    option: "budget",
    takes: "n",
    none: "none",
    help: {
      create: "tokens per period of a token-budget key (default: no limit)",
      update: "tokens per period",
    },
    rule: "a budget is a whole number of tokens",
  },
  period: {
    field: "period",
    kind: "period",
    table: "accounts",
    unset: "none",
    option: "period",
    takes: budgetPeriods.join("|"),
    help: {
      create: "the budget's period, by UTC calendar (default: month)",
      update: "the budget's period",
    },
    rule: `a period is one of ${budgetPeriods.join(", ")}`,
  },
  rpm_limit: {
    field: "rpmLimit",
    kind: "positive",
    table: "keys",
    unset: null,
    option: "rpm",
    takes: "n",
    none: "none",
    help: { create: "requests per minute (default: no limit)", update: "requests per minute" },
    rule: `a rate limit is 1 to ${maxRequestLimit} requests per minute`,
  },
  tpm_limits: {
    field: "tpmLimits",
    kind: "tpm",
    table: "keys",
    unset: null,
    option: "tpm",
    takes: "n[:models]",
    none: "none",
    help: {
      create: "tokens per minute: 60000, 20000:claude-opus-*; repeatable (default: no limit)",
      update: "replaces all its tokens-per-minute limits; repeatable",
    },
    rule: "a tokens-per-minute limit is a whole number, 1 or more, once per model pattern",
  },
  max_concurrent: {
    field: "maxConcurrent",
    kind: "positive",
    table: "keys",
    unset: null,
    option: "max-concurrent",
    takes: "n",
    none: "none",
    help: { create: "requests in flight at once (default: no limit)", update: "requests in flight at once" },
    rule: `a limit on requests in flight is 1 to ${maxRequestLimit}`,
  },
  provider_scope: {
    field: "scope",
    kind: "provider",
    table: "keys",
    unset: "all",
    option: "provider",
    takes: "name",
    none: "all",
    help: {
      create: "only models of this provider (default: all)",
      update: "only models of this provider",
    },
    rule: 'a provider scope is a provider\'s name, or "all"',
  },
  models: {
    field: "models",
    kind: "models",
    table: "keys",
    unset: null,
    option: "models",
    takes: "a,b",
    none: "all",
    help: { create: "only these models (default: all)", update: "only these models" },
    rule: "a list of models needs at least one; without a list, the key can use all",
  },
  expires_at: {
    field: "expiresAtMs",
    kind: "moment",
    table: "keys",
    unset: null,
    option: "expires",
    takes: "when",
    none: "never",
    help: {
      create: "a duration such as 30d, or a date such as 2027-01-31",
      update: "a new expiry; reactivates an expired key",
    },
    rule: "the expiry is in the past; to end the key now, revoke it",
  },
  content: {
    field: "content",
    kind: "content",
    table: "keys",
    unset: null,
    option: "content",
    takes: contentLevels.join("|"),
    none: "default",
    help: {
      create: "request content to record (default: as its account, then the configuration)",
      update: "request content to record",
    },
    rule: `content is one of ${contentLevels.join(", ")}`,
  },
  tags: {
    field: "tags",
    kind: "tags",
    table: "keys",
    unset: null,
    option: "tag",
    takes: "name=value",
    none: "none",
    help: {
      create: "default tag for its requests; repeatable",
      update: "replaces all its tags; repeatable",
    },
    rule: "a key or account can have up to 8 tags: names and values of 1 to 64 letters, digits or _.:@-",
  },
  tools: {
    field: "tools",
    kind: "flag",
    table: "keys",
    mode: "token_budget",
    unset: false,
    option: "tools",
    takes: "",
    help: {
      create: "a token-budget key can use hosted tools that cost money, such as web searches",
      update: "a token-budget key can use hosted tools that cost money",
    },
    rule: "only token-budget keys can limit hosted tools; a credit key pays for them",
  },
  user_headers: {
    field: "userHeaders",
    kind: "flag",
    table: "keys",
    unset: false,
    option: "user-headers",
    takes: "",
    help: {
      create: "take the end user from the client's `server.user_headers`",
      update: "take the end user from the client's `server.user_headers`",
    },
    rule: "user_headers is true or false",
  },
} as const satisfies Record<string, KeyAttribute>;

export type KeyAttributeName = keyof typeof keyAttributes;

export const keyAttributeNames = Object.keys(keyAttributes) as KeyAttributeName[];
export const keyAttributeList: readonly KeyAttribute[] = Object.values(keyAttributes);

/** The attributes among other fields, without those that are undefined. */
export function attributesOf(source: KeyAttributes): KeyAttributes;
export function attributesOf(source: KeyUpdate): Partial<KeyAttributes>;
export function attributesOf(source: KeyUpdate): Partial<KeyAttributes> {
  const fields = keyAttributeList.map(({ field }) => [field, source[field]] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** The attributes of a key that was created without any. */
export const unsetAttributes = Object.fromEntries(
  keyAttributeList.map(({ field, unset }) => [field, unset]),
  // Each field's own value is in the table above.
) as unknown as KeyAttributes;
