import { FormatRegistry, type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { momentText, pastMoment } from "../moments.ts";

FormatRegistry.Set("past-moment", (text) => pastMoment(text, 0) !== null);

/**
 * Schemas that all resources of the admin API share. The schema of a resource (`schema.ts`) produces the OpenAPI document
 * and the type of the response; the routes return it and the dashboard reads it, so a field renamed on one side fails to compile
 * on the other.
 */
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const oneOf = <const Names extends readonly string[]>(names: Names, fallback?: Names[number]) =>
  Type.Unsafe<Names[number]>(
    Type.Union(
      names.map((name) => Type.Literal(name)),
      fallback === undefined ? {} : { default: fallback },
    ),
  );

/** A request body; unknown fields are rejected. */
export const body = <Fields extends TProperties>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

export const nothing = body({});

export const count = Type.Integer({ minimum: 0 });

export const counted = (description: string) => Type.Integer({ minimum: 0, description });

export const figure = (description: string) => Type.Number({ description });

export const flag = (description: string) => Type.Boolean({ description });

export const text = (description: string) => Type.String({ description });

export const moment = Type.String({ format: "date-time", description: "ISO 8601 in UTC." });

/** A moment in the past, in the same syntax as at the command line. */
export const when = Type.String({
  format: "past-moment",
  description: `${momentText[0]?.toUpperCase()}${momentText.slice(1)}.`,
  [expectedText]: momentText,
});

export const credits = Type.Number({
  description: "Credits, as a decimal number.",
});

export const durationMs = Type.Number({ minimum: 0, description: "Milliseconds." });

export const listOf = <Row extends TSchema>(row: Row) => Type.Object({ data: Type.Array(row) });

export const pageOf = <Row extends TSchema>(row: Row) =>
  Type.Object({
    data: Type.Array(row),
    next_cursor: nullable(
      Type.String({ description: "Pass it as `cursor` to get the next page; null on the last." }),
    ),
  });

/** The type of `pageOf`. */
export interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

export const errorView = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.Optional(Type.String()),
  }),
});
export type ErrorView = Static<typeof errorView>;
