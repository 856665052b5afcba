/** The end of a snapshot's name, or of an alias that follows them: `-2026-04-23`, `-20260423`, `-latest`. */
const snapshot = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/;

/**
 * The name under which a model is compared, from the names on both sides. Providers bill snapshots (`gpt-5.6-2026-04-23`) that
 * were asked for without a date: these are one model, unless both sides tell the same snapshots apart.
 */
export function commonNames(billed: readonly string[], asked: readonly string[]): (model: string) => string {
  const names = new Map<string, string>();
  const families = Map.groupBy([...billed, ...asked], (model) => model.replace(snapshot, ""));
  for (const [family, both] of families) {
    const [ofBill, ofLedger] = [billed, asked].map(
      (side) => new Set(side.filter((name) => both.includes(name))),
    );
    const isApart =
      ofBill !== undefined && ofLedger !== undefined && ofBill.symmetricDifference(ofLedger).size === 0;
    const [only] =
      ofLedger?.size === 1 ? ofLedger : ofBill?.size === 1 && ofLedger?.size === 0 ? ofBill : [family];
    for (const name of both) names.set(name, isApart ? name : (only ?? family));
  }
  return (model) => names.get(model) ?? model;
}
