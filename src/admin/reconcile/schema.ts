import { type Static, Type } from "@sinclair/typebox";
import { body, count, counted, figure, nullable, oneOf, text } from "../formats/shapes.ts";
import { reasonKinds } from "./reason-kinds.ts";

const date = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "A day (UTC)." });

const billed = Type.Optional(count);

const billedAmounts = body({
  date,
  model: Type.Optional(Type.String({ minLength: 1, description: "Absent: all models of the day." })),
  requests: billed,
  input: billed,
  cached: billed,
  cache_writes: billed,
  output: billed,
  cost: Type.Optional(figure("USD.")),
});
export type BilledFiguresView = Static<typeof billedAmounts>;

const reportFile = body({
  name: text("For messages."),
  text: Type.String(),
  report: Type.Optional(text("The type of the report. Absent: detected from its results.")),
});

export const reconcileBody = body({
  provider: Type.String({ minLength: 1, description: "The provider's name in the configuration." }),
  from: date,
  to: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "A day (UTC), included." }),
  tolerance: Type.Optional(Type.Number({ minimum: 0, maximum: 100, description: "Percent; by default 1." })),
  files: Type.Optional(
    Type.Array(Type.Union([Type.String(), reportFile]), {
      maxItems: 100,
      description: "Contents of saved OpenAI or Anthropic reports, one per page, or of CSV tables.",
    }),
  ),
  figures: Type.Optional(Type.Array(billedAmounts, { description: "Billed amounts, instead of files." })),
});
export type ReconcileBody = Static<typeof reconcileBody>;

const comparedFigure = Type.Object({
  billed: nullable(figure("Null if the report does not include it.")),
  ledger: Type.Number(),
  difference: nullable(figure("Billed minus ledger.")),
});
export type ComparedAmountView = Static<typeof comparedFigure>;

const figures = {
  requests: comparedFigure,
  input: comparedFigure,
  cached: comparedFigure,
  cache_writes: comparedFigure,
  output: comparedFigure,
  cost: Type.Object(comparedFigure.properties, { description: "USD." }),
};

const reconciledRowView = Type.Object({
  date,
  model: nullable(text("Null if the report has no breakdown by model.")),
  ...figures,
  differing: Type.Array(Type.String(), {
    description: "Fields that differ by more than the tolerance.",
  }),
  reasons: Type.Array(
    Type.Object({ reason: oneOf(reasonKinds), calls: nullable(count), text: Type.String() }),
    { description: "Likely reasons." },
  ),
});
export type ReconciledRowView = Static<typeof reconciledRowView>;

export const reconciliationView = Type.Object({
  provider: Type.String(),
  from: date,
  to: date,
  tolerance: figure("Percent."),
  differing: counted("Rows that differ by more than the tolerance."),
  data: Type.Array(reconciledRowView),
  total: Type.Object(figures),
});
export type ReconciliationView = Static<typeof reconciliationView>;
