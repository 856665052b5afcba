import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** Compiled on first use, so that start-up does not wait for all schemas. */
export function compiled(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema);
    checks.set(schema, check);
  }
  return check;
}
