import { type Static, Type } from "@sinclair/typebox";
import { count, credits, moment, nullable, oneOf } from "./shapes.ts";

export const keyStatuses = ["active", "disabled", "suspended", "revoked", "expired"] as const;
export const keyModes = ["credit", "token_budget"] as const;
const periods = ["day", "week", "month", "none"] as const;

const creditStanding = Type.Object({ purchased: credits, used: credits, balance: credits });

const budgetStanding = Type.Object({
  tokens: nullable(count),
  period: oneOf(periods),
  used: count,
  remaining: nullable(count),
  resets_at: nullable(moment),
});

const keyFields = {
  id: Type.String(),
  account: Type.String({ description: "The id of the account that it draws on, which no other key does." }),
  prefix: Type.String({ description: "The first characters of the key; not secret." }),
  label: nullable(Type.String()),
  mode: oneOf(keyModes),
  status: oneOf(keyStatuses),
  scope: Type.String({ description: "A provider's name, or `all`." }),
  models: nullable(Type.Array(Type.String())),
  rpm_limit: nullable(Type.Integer({ minimum: 1 })),
  created_at: moment,
  expires_at: nullable(moment),
  previous_secret_until: nullable(moment),
  credit: nullable(creditStanding),
  budget: nullable(budgetStanding),
  held: Type.Number({ description: "Set aside by open requests: credits, or tokens of a budget." }),
  requests: count,
  input_tokens: count,
  output_tokens: count,
  last_used_on: nullable(
    Type.String({ format: "date", description: "The last day (UTC) with a call, refused ones included." }),
  ),
};

export const keyView = Type.Object(keyFields);
export type KeyView = Static<typeof keyView>;

const listedKeyView = Type.Object({
  ...keyFields,
  recent: Type.Array(Type.Number(), {
    description: "What it spent on each of the last 14 days, oldest first: credits, or tokens of a budget.",
  }),
});
export type ListedKeyView = Static<typeof listedKeyView>;

export const keyList = Type.Object({
  data: Type.Array(listedKeyView),
  next_cursor: nullable(Type.String()),
  total: count,
});
export type KeyList = Static<typeof keyList>;

export const issuedKeyView = Type.Object({
  ...keyFields,
  key: Type.String({ description: "The secret. This answer is the only one that ever carries it." }),
});
export type IssuedKeyView = Static<typeof issuedKeyView>;

const closed = { additionalProperties: false } as const;

const changeable = {
  label: Type.Optional(nullable(Type.String())),
  scope: Type.Optional(Type.String()),
  models: Type.Optional(nullable(Type.Array(Type.String()))),
  rpm_limit: Type.Optional(nullable(Type.Integer({ minimum: 1 }))),
  budget_tokens: Type.Optional(nullable(count)),
  period: Type.Optional(oneOf(periods)),
  expires_at: Type.Optional(nullable(moment)),
};

export const newKeyBody = Type.Object(
  {
    mode: oneOf(keyModes),
    credit: Type.Optional(Type.Number({ minimum: 0, description: "Opening balance of a credit key." })),
    ...changeable,
  },
  closed,
);

export const keyChangesBody = Type.Object(changeable, closed);
export type KeyChangesBody = Static<typeof keyChangesBody>;

export const topUpBody = Type.Object(
  {
    amount: Type.Number({ exclusiveMinimum: 0, description: "Credits." }),
    reference: Type.Optional(
      nullable(Type.String({ description: "The same reference again adds nothing: a retry is safe." })),
    ),
    note: Type.Optional(nullable(Type.String())),
  },
  closed,
);

export const adjustBody = Type.Object(
  {
    amount: Type.Number({ description: "Credits: above 0 adds, below 0 takes away." }),
    note: Type.String({ minLength: 1, description: "Why; kept with the ledger entry." }),
    reference: Type.Optional(
      nullable(Type.String({ description: "The same reference again changes nothing: a retry is safe." })),
    ),
  },
  closed,
);

export const rotateBody = Type.Object(
  { grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_592_000, default: 0 })) },
  closed,
);
