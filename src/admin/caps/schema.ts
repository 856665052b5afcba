import { type Static, Type } from "@sinclair/typebox";
import { capPeriods, keyModes } from "../../base/key-attributes.ts";
import { body, counted, figure, flag, listOf, nullable, oneOf, text } from "../formats/shapes.ts";

const mode = oneOf(keyModes);
const period = oneOf(capPeriods);

const limited = {
  limit: figure("Credits, or tokens for `mode: token_budget`."),
  period,
  models: nullable(text("A pattern such as claude-opus-*; null for all models.")),
};

export const capView = Type.Object({
  id: Type.String(),
  ...limited,
  raised_by: figure("Added for the current period only, for all its values."),
  used: nullable(figure("In the current period; null if each of the `counted` values counts separately.")),
  mode,
  each: nullable(text("owner, user or tag:NAME: the label whose values count separately.")),
  owner: nullable(Type.String()),
  user: nullable(Type.String()),
  tag: nullable(text("NAME=VALUE")),
  key: nullable(text("Its id; null unless the cap is within one key.")),
  account: nullable(text("Its id; null unless the cap is within one account.")),
  optional: flag("Requests without the label count together."),
  values: Type.Integer({ description: "Maximum number of values that it counts in a period." }),
  then: nullable(text("The model that runs requests beyond the limit; null: they are rejected.")),
  then_always: flag(
    "Even if the request continues a stored response, or its prompt is cached for the denied model.",
  ),
  counted: counted("How many values have spent something in the current period."),
  resets_at: Type.String(),
  notes: Type.Array(Type.String(), { description: "What it does not count." }),
});
export type CapByValueView = Static<typeof capView>;

const listedCapView = Type.Object({
  ...capView.properties,
  id: nullable(text("Null for a cap of a key or an account: change it there.")),
});
export type ListedCapView = Static<typeof listedCapView>;

const valueView = Type.Object({
  cap: Type.String(),
  value: nullable(text("Null for requests without the label.")),
  used: Type.Number(),
  limit: Type.Number(),
  left: Type.Number(),
  raised_by: figure("Added for this value in the current period only."),
});
export type CapValueView = Static<typeof valueView>;

const nearValueView = Type.Object({
  ...valueView.properties,
  cap: nullable(text("Null for a cap of a key or an account.")),
  label: nullable(text("owner, user or tag:NAME; null for a cap of a key or an account.")),
  key: capView.properties.key,
  account: capView.properties.account,
  period,
  models: limited.models,
  mode,
});
export type NearValueView = Static<typeof nearValueView>;

export const valueList = listOf(nearValueView);
export const nearQuery = Type.Object({
  near: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: "The share of the limit that is used, such as 0.8." }),
  ),
});
export const capList = listOf(listedCapView);
export const capDetail = Type.Object({ ...capView.properties, used_by: Type.Array(valueView) });
export type CapDetailView = Static<typeof capDetail>;

const optional = Type.Optional;
const name = (maxLength: number) => Type.String({ minLength: 1, maxLength });

const change = {
  limit: Type.Number({ exclusiveMinimum: 0 }),
  period,
  models: optional(nullable(name(128))),
  values: optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  then: optional(nullable(name(128))),
  then_always: optional(Type.Boolean()),
};

export const newCapBody = body({
  ...change,
  each: optional(name(68)),
  owner: optional(name(128)),
  user: optional(name(256)),
  tag: optional(name(129)),
  key: optional(name(64)),
  account: optional(name(128)),
  mode: optional(mode),
  optional: optional(Type.Boolean()),
});
export type NewCapBody = Static<typeof newCapBody>;

export const capChangesBody = body({
  ...change,
  limit: optional(change.limit),
  period: optional(period),
});
export type CapChangesBody = Static<typeof capChangesBody>;

export const raiseBody = body({
  amount: Type.Number({ exclusiveMinimum: 0 }),
  value: optional(name(256)),
  note: name(500),
});
