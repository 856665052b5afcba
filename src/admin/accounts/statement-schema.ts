import { type Static, Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import { count, counted, figure, flag, moment, nullable, oneOf } from "../formats/shapes.ts";

const amount = figure("Credits or tokens, see `unit`; charges are negative.");
const name = nullable(Type.String());
const nano = nullable(
  Type.Integer({
    description:
      "The amount in whole nano-credits; null for tokens. Above 9 million credits it is rounded to the nearest double.",
  }),
);

const statementLine = Type.Object({
  kind: oneOf(["charge", "overrun", "topup", "adjustment"]),
  at: nullable(moment),
  key_id: name,
  key_prefix: name,
  key_label: name,
  owner: name,
  model: name,
  recorded_requests: count,
  cancelled_calls: counted(
    "Cancelled or interrupted requests. They are part of the amount, but not of `recorded_requests` and tokens.",
  ),
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  amount,
  amount_nano: nano,
  reference: name,
  note: name,
});
export type StatementLineView = Static<typeof statementLine>;

const accountStatement = Type.Object({
  account: Type.String(),
  label: name,
  mode: oneOf(keyModes),
  postpaid: Type.Boolean(),
  unit: oneOf(["credits", "tokens"]),
  opening: nullable(amount),
  charged: amount,
  topped_up: amount,
  adjusted: amount,
  total: amount,
  total_nano: nano,
  closing: nullable(amount),
  owed: nullable(
    Type.Number({
      minimum: 0,
      description: "Amount due; null unless the account is postpaid.",
    }),
  ),
  last_entry: nullable(
    Type.String({
      description:
        "The newest entry before the end of the month, with its hash. `kept` of an audit takes it.",
    }),
  ),
  lines: Type.Array(statementLine),
});
export type AccountStatementView = Static<typeof accountStatement>;

export const statementView = Type.Object({
  month: Type.String(),
  since: moment,
  until: moment,
  unfinished: flag("The month is not over, so the amounts can still change."),
  anchor: nullable(Type.String({ description: "The ledger's newest anchor. `kept` of an audit takes it." })),
  accounts: Type.Array(accountStatement),
});
export type StatementView = Static<typeof statementView>;
