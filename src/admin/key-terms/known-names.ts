import type { KeyUpdate } from "../../base/key-attributes.ts";
import { didYouMean } from "../../config/suggest.ts";
import { invalidInput } from "../context.ts";

/** The providers and models that the configuration names, usable now or not. */
export interface KnownNames {
  readonly providers: readonly string[];
  readonly models: readonly string[];
}

/**
 * A key for a model or provider that does not exist would only fail at its first request, far from the typing error.
 * Names that the key already has are not checked, since a model may have been removed meanwhile.
 */
export function rejectUnknownNames(update: KeyUpdate, known: KnownNames, current: KeyUpdate = {}): void {
  const { scope } = update;
  if (scope !== undefined && scope !== "all" && scope !== current.scope && !known.providers.includes(scope)) {
    throw invalidInput(`provider "${scope}" does not exist${didYouMean(scope, known.providers)}`);
  }
  for (const model of update.models ?? []) {
    if (current.models?.includes(model) !== true) rejectUnknownModel(model, known);
  }
}

export function rejectUnknownModel(model: string, { models }: KnownNames): void {
  if (models.includes(model)) return;
  throw invalidInput(
    `model "${model}" does not exist${didYouMean(model, models) || "; run `sluice models list`"}`,
  );
}
