/** A provider that serves models by the catalog: its `models`, as patterns. */
export interface CatalogRule {
  readonly provider: string;
  readonly patterns: readonly string[];
}
