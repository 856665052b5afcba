import { type Static, Type } from "@sinclair/typebox";
import { findingKindNames } from "../../attention/finding.ts";
import { moment, nullable, oneOf } from "./shapes.ts";

export const findingView = Type.Object({
  kind: oneOf(findingKindNames),
  subject: Type.Object({
    type: Type.String({
      description: "`provider`, `key`, `account`, `model`, `store`, `node`, `ledger` or `configuration`.",
    }),
    id: Type.String(),
    label: Type.String({ description: "What people call it." }),
  }),
  level: nullable(Type.Integer({ description: "80, 95 or 100 % of a balance, budget or cap." })),
  since: nullable(moment),
  text: Type.String({ description: "One sentence." }),
  details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
  last_words: nullable(Type.String({ description: "What the provider said last; it is never sent." })),
});
export type FindingView = Static<typeof findingView>;
