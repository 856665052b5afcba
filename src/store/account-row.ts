import type { AccountRecord, CapLimit, CapRecord } from "./records.ts";
import { StoreRefusal } from "./store.ts";

const capFields = `'no', caps.no, 'limit', caps.amount, 'period', caps.period, 'models', caps.models, 'extra', caps.extra,
  'extraPeriodMs', caps.extra_period_ms`;

/** The caps of a row of `keys` or `accounts`, as text for `capsFrom`. */
export function selectCaps(owner: "keys" | "accounts"): string {
  const column = owner === "keys" ? "key_no" : "account_no";
  return `(SELECT json_agg(json_build_object(${capFields}))::text FROM caps WHERE caps.${column} = ${owner}.no)`;
}

/** In the order in which they were made. */
export function capsFrom(text: string | null): readonly CapRecord[] {
  if (text === null) return [];
  return (JSON.parse(text) as CapRecord[]).toSorted((one, other) => one.no - other.no);
}

/** An account, and the number that tables know it by. */
export interface NumberedAccount {
  readonly no: number;
  readonly account: AccountRecord;
}

export interface AccountRow extends Omit<AccountRecord, "isOpen" | "caps" | "keyCaps"> {
  readonly no: number;
  readonly isOpen: number | boolean;
  readonly caps: string | null;
  readonly keyCaps: string | null;
}

export const selectAccounts = `
SELECT accounts.no, accounts.id, accounts.mode, account_label AS "label", is_open AS "isOpen",
  closed_at_ms::float8 AS "closedAtMs", budget_tokens::float8 AS "budgetTokens", accounts.period,
  accounts.created_at_ms::float8 AS "createdAtMs", key_caps AS "keyCaps", ${selectCaps("accounts")} AS "caps"
FROM accounts`;

export function accountFromRow({ no, isOpen, caps, keyCaps, ...fields }: AccountRow): NumberedAccount {
  return {
    no,
    account: {
      ...fields,
      isOpen: Boolean(isOpen),
      caps: capsFrom(caps),
      keyCaps: keyCaps === null ? [] : (JSON.parse(keyCaps) as CapLimit[]),
    },
  };
}

/** In the order of the columns of `accounts` that an operator may change: label, open, closed, budget, period, key caps. */
export function accountValues(account: AccountRecord) {
  return [
    account.label,
    account.isOpen ? 1 : 0,
    account.closedAtMs,
    account.budgetTokens,
    account.period,
    account.keyCaps.length === 0 ? null : JSON.stringify(account.keyCaps),
  ] as const;
}

/** Which caps go, and which come, when these take the place of all. */
export function changedCaps(before: readonly CapRecord[], wanted: readonly CapLimit[]) {
  const isSame = (one: CapLimit, other: CapLimit) =>
    one.period === other.period && one.models === other.models;
  return {
    removed: before.filter((cap) => !wanted.some((other) => isSame(cap, other))),
    kept: before.flatMap((cap) => {
      const same = wanted.find((other) => isSame(cap, other));
      return same === undefined ? [] : [{ no: cap.no, limit: same.limit }];
    }),
    added: wanted.filter((cap) => !before.some((other) => isSame(cap, other))),
  };
}

/** Throws a refusal unless a key of this mode may draw on the account. */
export function checkJoin({ id, mode, closedAtMs }: AccountRecord, keyMode: AccountRecord["mode"]): void {
  if (closedAtMs !== null) throw new StoreRefusal("closed", `The account ${id} is closed.`);
  if (mode === keyMode) return;
  const [has, needs] = mode === "credit" ? ["credit", "a token budget"] : ["a token budget", "credit"];
  throw new StoreRefusal("wrong_mode", `The account ${id} has ${has}, and the key needs ${needs}.`);
}

export function unknownAccount(id: string): StoreRefusal {
  return new StoreRefusal("unknown_account", `There is no account ${id}.`);
}

export function unknownCap(): StoreRefusal {
  return new StoreRefusal("unknown_account", "There is no such cap any more.");
}
