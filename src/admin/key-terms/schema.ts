import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import {
  budgetPeriods,
  capPeriods,
  type KeyAttributeName,
  keyAttributeNames,
  keyAttributes,
  keyModes,
} from "../../base/key-attributes.ts";
import { maxTpmLimits } from "../../base/models/tpm-limit.ts";
import { contentLevels } from "../../base/requests/content-level.ts";
import { sentence } from "../../base/text/sentence.ts";
import { body, count, credits, figure, flag, moment, nullable, oneOf, text } from "../formats/shapes.ts";

export const keyStatuses = ["active", "disabled", "suspended", "revoked", "expired"] as const;
export const accountStatuses = ["active", "closed"] as const;

export const contentLevel = nullable(oneOf(contentLevels));

const tpmLimits = Type.Array(
  body({
    limit: Type.Integer({ minimum: 1, description: "Tokens per minute." }),
    models: Type.Optional(nullable(text("A name or pattern (`claude-*`); null for all models."))),
  }),
  { maxItems: maxTpmLimits },
);

const tags = Type.Record(Type.String(), Type.String(), { description: "Values by tag name." });

/** The schema of each kind of attribute. */
const attributeKinds = {
  text: nullable(Type.String()),
  name: nullable(Type.String()),
  provider: text("A provider's name, or `all`."),
  models: nullable(Type.Array(Type.String())),
  positive: nullable(Type.Integer({ minimum: 1 })),
  count: nullable(count),
  period: oneOf(budgetPeriods),
  moment: nullable(moment),
  content: contentLevel,
  tpm: nullable(tpmLimits),
  tags: nullable(tags),
  flag: Type.Boolean(),
};

/** The attributes that accounts have too. */
export const sharedAttributes = { tags: attributeKinds.tags, tpm_limits: attributeKinds.tpm };

/** The schema of every attribute of a key, under its name. */
const attributes = Object.fromEntries(
  keyAttributeNames.map((name) => {
    const { kind, help } = keyAttributes[name];
    return [name, kind === "flag" ? flag(sentence(help.update)) : attributeKinds[kind]];
  }),
) as { [Name in KeyAttributeName]: (typeof attributeKinds)[(typeof keyAttributes)[Name]["kind"]] };

/** An account's terms are shown as its `budget`. */
const { budget_tokens, period, ...shownAttributes } = attributes;
export const accountTerms = { budget_tokens, period };
export type ShownAttributes = Static<TObject<typeof shownAttributes>>;

export const creditState = Type.Object({ purchased: credits, used: credits, balance: credits });

export const budgetState = Type.Object({
  tokens: nullable(count),
  period: oneOf(budgetPeriods),
  used: count,
  remaining: nullable(count),
  resets_at: nullable(moment),
});

export const capView = Type.Object({
  limit: figure("Credits or tokens, including `raised_by`."),
  raised_by: figure("The part of the limit that applies only to the current period."),
  period: oneOf(capPeriods),
  models: nullable(text("A name or pattern (`claude-*`); null for all models.")),
  used: Type.Number(),
  resets_at: nullable(moment),
});
export type CapView = Static<typeof capView>;

/** A cap by owner, end user or tag, as it holds for one key or account. */
export const boundCapView = Type.Object({
  ...capView.properties,
  cap: text("The cap's id."),
  label: text("`owner`, `user` or `tag:NAME`."),
  value: nullable(text("The value that counts for this key; null if it differs by request.")),
  used: nullable(figure("Used by this value; null without a value.")),
  then: nullable(text("The model that runs requests beyond the limit.")),
});
export type BoundCapView = Static<typeof boundCapView>;

export const closed = { additionalProperties: false } as const;

export const capsBody = Type.Array(
  body({
    limit: Type.Number({ minimum: 0, description: "Credits or tokens." }),
    period: oneOf(capPeriods),
    models: Type.Optional(capView.properties.models),
  }),
  { description: "Replaces all caps; an empty list removes them." },
);
export type CapsBody = Static<typeof capsBody>;

const lastUsedOn = nullable(
  Type.String({
    format: "date",
    description:
      "The last day (UTC) with a request, rejected ones included. Changes do not return it, because they wait for no report.",
  }),
);

const keyFields = {
  id: Type.String(),
  account: text("The id of the account that the key is billed to."),
  prefix: text("The first characters of the key; not secret."),
  mode: oneOf(keyModes),
  status: oneOf(keyStatuses),
  ...shownAttributes,
  caps: Type.Array(capView),
  postpaid: flag("The account is postpaid: caps are the only limit."),
  account_status: oneOf(accountStatuses),
  account_caps: Type.Array(capView, {
    description: "Caps of the account, shared by all its keys.",
  }),
  value_caps: Type.Array(boundCapView, {
    description: "Caps by owner, end user and tag that apply to the key's requests.",
  }),
  created_at: moment,
  previous_secret_until: nullable(moment),
  credit: nullable(creditState),
  budget: nullable(budgetState),
  reserved: nullable(
    figure("Reserved by requests in progress: credits, or tokens of a budget; null if no gateway runs."),
  ),
  lifetime_spend: figure("Credits spent by this key, on any account."),
  recorded_requests: count,
  input_tokens: count,
  output_tokens: count,
  last_used_on: Type.Optional(lastUsedOn),
  sign_in: nullable(
    text("The person who created the key for themselves. It ends when they can no longer sign in."),
  ),
};

export const keyView = Type.Object(keyFields);
export type KeyView = Static<typeof keyView>;

const listedKeyView = Type.Object({
  ...keyFields,
  last_used_on: lastUsedOn,
  recent: Type.Array(Type.Number(), {
    description: "Spend on each of the last 14 days, oldest first: credits, or tokens of a budget.",
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
  key: text("The secret, returned only in this response."),
});
export type IssuedKeyView = Static<typeof issuedKeyView>;

export const keyChangesBody = Type.Partial(Type.Object({ ...attributes, caps: capsBody }), closed);
export type KeyChangesBody = Static<typeof keyChangesBody>;

export const openingCredit = Type.Number({ minimum: 0, description: "Opening balance, in credits." });
export const postpaidFlag = flag("Postpaid: no balance is needed.");

export const newKeyBody = body({
  mode: Type.Optional(oneOf(keyModes)),
  account: Type.Optional(
    text("The id or label of the account to bill. Absent: the key gets its own account."),
  ),
  credit: Type.Optional(openingCredit),
  postpaid: Type.Optional(postpaidFlag),
  ...keyChangesBody.properties,
  owner: Type.Optional(
    nullable(text("`me` creates a key of your own on the terms of `member_keys`, with `label` alone.")),
  ),
});
export type NewKeyBody = Static<typeof newKeyBody>;

export const moveBody = body({
  account: Type.String({ minLength: 1, description: "The other account's id or label." }),
});

export const raiseKeyCapBody = body({
  amount: Type.Number({ exclusiveMinimum: 0, description: "Credits or tokens, for the current period." }),
  cap: Type.Optional(text("The cap to raise, if there are several: `month`, `week:claude-opus-*`.")),
  note: Type.String({ minLength: 1, description: "The reason, for the audit log." }),
});
export type RaiseCapBody = Static<typeof raiseKeyCapBody>;

/** A key or an account after a top-up or an adjustment. */
export function withEntry<Properties extends TProperties>(view: TObject<Properties>) {
  return Type.Object({
    ...view.properties,
    entry_id: Type.Integer({ description: "The ledger entry; the earlier one if `repeated`." }),
    repeated: flag("The reference was used before, so nothing was changed."),
  });
}

export const keyStatusView = Type.Object({
  ...keyFields,
  changed: flag("False if the key had that status already."),
});
export type KeyStatusView = Static<typeof keyStatusView>;

export const enteredKeyView = withEntry(keyView);
export type EnteredKey = Static<typeof enteredKeyView>;

export const topUpBody = body({
  amount: Type.Number({ exclusiveMinimum: 0, description: "Credits." }),
  reference: Type.Optional(nullable(text("A repeated reference adds nothing, so retries are safe."))),
  note: Type.Optional(nullable(Type.String())),
});

export const adjustBody = body({
  amount: figure("Credits; negative to subtract."),
  note: Type.String({ minLength: 1, description: "The reason, stored with the ledger entry." }),
  reference: Type.Optional(nullable(text("A repeated reference changes nothing, so retries are safe."))),
});

export const rotateBody = body({
  grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_592_000, default: 0 })),
});
