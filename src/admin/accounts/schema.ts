import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { body, moment, nullable, oneOf, pageOf } from "../formats/shapes.ts";
import {
  accountStatuses,
  accountTerms,
  boundCapView,
  budgetState,
  capsBody,
  capView,
  closed,
  contentLevel,
  creditState,
  keyStatuses,
  openingCredit,
  postpaidFlag,
  sharedAttributes,
  withEntry,
} from "../key-terms/schema.ts";

const accountKeyView = Type.Object({
  id: Type.String(),
  prefix: Type.String(),
  label: nullable(Type.String()),
  owner: nullable(Type.String()),
  status: oneOf(keyStatuses),
  caps: Type.Array(capView),
});

export const accountView = Type.Object({
  id: Type.String(),
  mode: oneOf(keyModes),
  label: nullable(Type.String()),
  postpaid: postpaidFlag,
  status: oneOf(accountStatuses),
  created_at: moment,
  credit: nullable(creditState),
  budget: nullable(budgetState),
  caps: Type.Array(capView),
  value_caps: Type.Array(boundCapView, {
    description: "Caps by owner, end user and tag within the account, and caps of its tags.",
  }),
  key_caps: Type.Array(Type.Pick(capView, ["limit", "period", "models"]), {
    description: "Default caps for new keys.",
  }),
  content: contentLevel,
  ...sharedAttributes,
  keys: Type.Array(accountKeyView),
});
export type AccountView = Static<typeof accountView>;

export const enteredAccountView = withEntry(accountView);
export type EnteredAccount = Static<typeof enteredAccountView>;

export const accountQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "Default: all accounts." })),
  cursor: Type.Optional(Type.String({ description: "`next_cursor` of the previous page." })),
});
export const accountList = pageOf(accountView);
export type AccountList = Static<typeof accountList>;

const label = Type.String({ minLength: 1, description: "A display name." });

export const accountChangesBody = Type.Partial(
  Type.Object({
    label,
    ...accountTerms,
    postpaid: postpaidFlag,
    caps: capsBody,
    key_caps: capsBody,
    content: contentLevel,
    ...sharedAttributes,
  }),
  closed,
);
export type AccountChangesBody = Static<typeof accountChangesBody>;

export const newAccountBody = body({
  ...accountChangesBody.properties,
  mode: oneOf(keyModes),
  label,
  credit: Type.Optional(openingCredit),
});
