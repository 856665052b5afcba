import { type Static, type TObject, Type } from "@sinclair/typebox";
import {
  budgetPeriods,
  type KeyAttributeName,
  keyAttributeNames,
  keyAttributes,
  keyModes,
} from "../../base/key-attributes.ts";
import { count, credits, moment, nullable, oneOf } from "./shapes.ts";

export const keyStatuses = ["active", "disabled", "suspended", "revoked", "expired"] as const;
export const capPeriods = ["day", "week", "month"] as const;

/** How each kind of attribute is written. */
const attributeKinds = {
  text: nullable(Type.String()),
  name: nullable(Type.String()),
  provider: Type.String({ description: "A provider's name, or `all`." }),
  models: nullable(Type.Array(Type.String())),
  positive: nullable(Type.Integer({ minimum: 1 })),
  count: nullable(count),
  period: oneOf(budgetPeriods),
  moment: nullable(moment),
};

/** The schema of every attribute of a key, under its name. */
const attributes = Object.fromEntries(
  keyAttributeNames.map((name) => [name, attributeKinds[keyAttributes[name].kind]]),
) as { [Name in KeyAttributeName]: (typeof attributeKinds)[(typeof keyAttributes)[Name]["kind"]] };

/** An account's terms are shown as its `budget`. */
const { budget_tokens: _tokens, period: _period, ...shownAttributes } = attributes;
export type ShownAttributes = Static<TObject<typeof shownAttributes>>;

const creditStanding = Type.Object({ purchased: credits, used: credits, balance: credits });

const budgetStanding = Type.Object({
  tokens: nullable(count),
  period: oneOf(budgetPeriods),
  used: count,
  remaining: nullable(count),
  resets_at: nullable(moment),
});

export const capView = Type.Object({
  limit: Type.Number({ description: "Credits or tokens; with what it is raised by in this period." }),
  period: oneOf(capPeriods),
  models: nullable(Type.String({ description: "A pattern, in which * stands for anything." })),
  used: Type.Number(),
  resets_at: nullable(moment),
});
export type CapView = Static<typeof capView>;

const keyFields = {
  id: Type.String(),
  account: Type.String({ description: "The id of the account that it draws on." }),
  prefix: Type.String({ description: "The first characters of the key; not secret." }),
  mode: oneOf(keyModes),
  status: oneOf(keyStatuses),
  ...shownAttributes,
  caps: Type.Array(capView),
  created_at: moment,
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

const accountKeyView = Type.Object({
  id: Type.String(),
  prefix: Type.String(),
  label: nullable(Type.String()),
  owner: nullable(Type.String()),
  caps: Type.Array(capView),
});

export const accountView = Type.Object({
  id: Type.String(),
  mode: oneOf(keyModes),
  label: nullable(Type.String()),
  open: Type.Boolean({ description: "Billed afterwards: no balance is needed." }),
  status: oneOf(["active", "closed"] as const),
  created_at: moment,
  credit: nullable(creditStanding),
  budget: nullable(budgetStanding),
  caps: Type.Array(capView),
  key_caps: Type.Array(Type.Pick(capView, ["limit", "period", "models"]), {
    description: "What new keys get.",
  }),
  keys: Type.Array(accountKeyView),
});
export type AccountView = Static<typeof accountView>;

export const accountList = Type.Object({ data: Type.Array(accountView) });

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

export const keyChangesBody = Type.Partial(Type.Object(attributes), closed);
export type KeyChangesBody = Static<typeof keyChangesBody>;

export const newKeyBody = Type.Object(
  {
    mode: oneOf(keyModes),
    credit: Type.Optional(Type.Number({ minimum: 0, description: "Opening balance of a credit key." })),
    ...keyChangesBody.properties,
  },
  closed,
);

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
