/** A provider that serves models by the catalog: its `models`, as patterns. */
export interface CatalogRule {
  readonly provider: string;
  readonly patterns: readonly string[];
  /** Models that match and have no known price are served to token-budget keys. */
  readonly isBudgetOnly: boolean;
}
