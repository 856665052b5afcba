import type { TSchema } from "@sinclair/typebox";

/**
 * What the schema says about an option beyond JSON Schema. The marks are symbols, so that `sluice config schema` does not print
 * them. The loader (decode.ts), the view of the running configuration (view.ts) and a reload (reload.ts) follow them.
 */

/** The unit that the program has the value in, which ends the setting's name: `heartbeat` becomes `heartbeatMs`. */
export const unit: unique symbol = Symbol("unit");
export type Unit = "ms" | "bytes";

/**
 * Marks values that are never shown. `secret` and `key` (32 bytes in base64) are references that the loader resolves,
 * and are masked; an `address` is shown without its credentials, and `headers` without their values.
 */
export const secrecy: unique symbol = Symbol("secrecy");
export type Secrecy = "secret" | "key" | "address" | "headers";

/** The consequence of an unset secret, for a warning. Without this mark, an unset secret is a problem. */
export const ifUnset: unique symbol = Symbol("if unset");

/** A reload does not apply it. */
export const needsRestart: unique symbol = Symbol("needs restart");

/** A table of options that is decoded too; any other table is a value. */
export const isSection: unique symbol = Symbol("is section");

export interface Marks {
  readonly [unit]?: Unit;
  readonly [secrecy]?: Secrecy;
  readonly [ifUnset]?: string;
  readonly [needsRestart]?: true;
  readonly [isSection]?: true;
}

export function marked<Schema extends TSchema, const Given extends Marks>(
  schema: Schema,
  marks: Given,
): Schema & Given {
  return { ...schema, ...marks };
}

export const afterRestart = <Schema extends TSchema>(schema: Schema) =>
  marked(schema, { [needsRestart]: true });

/** An option with a default is always set. */
export type WithDefault<Default> = undefined extends Default ? unknown : { readonly default: Default };
