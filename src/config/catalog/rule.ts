/** The `models` patterns of a provider that serves catalog models. */
export interface CatalogRule {
  readonly provider: string;
  readonly patterns: readonly string[];
  /** Models that match and have no known price are served to token-budget keys. */
  readonly isBudgetOnly: boolean;
}
