import { GatewayError, type VendorError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { DroppedFields } from "./dropped-fields.ts";

/**
 * What a translation does with a field of a client's request. A test holds the tables of the dialects against the types of
 * the vendors' SDKs, so that a field that a new version brings has to be decided on.
 *
 * - `carried`: it is translated. A provider's dialect that has no counterpart drops and reports it, or rejects it.
 * - `dropped`: no other dialect has it, and the answer means the same without it. It is reported.
 * - `refused`: no other dialect has it, and the answer would mean something else without it.
 */
export type FieldDecision = "carried" | "dropped" | RefusedField;

interface RefusedField {
  readonly refused: string;
  /** Values that ask for nothing special. */
  readonly except?: readonly Json[];
  /** What the vendor's SDK acts on. */
  readonly vendor?: VendorError;
}

export type FieldDecisions = Readonly<Record<string, FieldDecision>>;

/** Rejects or reports the fields that cannot be translated. Unknown fields are dropped. Null counts as absent. */
export function decideFields(
  object: JsonObject,
  decisions: FieldDecisions,
  dropped: DroppedFields,
  prefix = "",
): void {
  // Parsed JSON has no inherited fields, and `Object.entries` would allocate an array per field.
  for (const field in object) {
    const value = object[field];
    if (value === null || value === undefined) continue;
    const decision = Object.hasOwn(decisions, field) ? decisions[field] : undefined;
    if (decision === "carried") continue;
    if (decision === undefined || decision === "dropped") dropped.add(prefix + field);
    else refuseField(prefix + field, value, decision);
  }
}

function refuseField(path: string, value: Json, { refused, except, vendor }: RefusedField): void {
  if (except?.includes(value) === true) return;
  throw new GatewayError("invalid_request", `${path}: ${refused}`, { param: path, vendor });
}
