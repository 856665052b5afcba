/** The suffix of a snapshot or of the alias for the latest one: `-2026-04-23`, `-20260423`, `-latest`. */
const snapshot = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/;

/** The names that a model has on each side. */
interface Family {
  readonly billed: Set<string>;
  readonly recorded: Set<string>;
}

/**
 * Returns the name under which a model is compared. Providers bill snapshots (`gpt-5.6-2026-04-23`) of models that were
 * requested without a date. Both count as one model, unless both sides have exactly the same snapshots.
 */
export function commonNames(billed: Iterable<string>, recorded: Iterable<string>): (model: string) => string {
  const families = new Map<string, Family>();
  const familyOf = (model: string) =>
    families.getOrInsertComputed(model.replace(snapshot, ""), () => ({
      billed: new Set(),
      recorded: new Set(),
    }));
  for (const model of billed) familyOf(model).billed.add(model);
  for (const model of recorded) familyOf(model).recorded.add(model);
  const names = new Map<string, string>();
  for (const [name, { billed: billedNames, recorded: ledgerNames }] of families) {
    const areSameNames = billedNames.symmetricDifference(ledgerNames).size === 0;
    const [common = name] =
      ledgerNames.size === 1
        ? ledgerNames
        : ledgerNames.size === 0 && billedNames.size === 1
          ? billedNames
          : [];
    for (const model of billedNames.union(ledgerNames)) names.set(model, areSameNames ? model : common);
  }
  return (model) => names.get(model) ?? model;
}
