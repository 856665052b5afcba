import type { SQLQueryBindings } from "bun:sqlite";
import type { ComparedPrices, ComparisonQuery } from "../../reports.ts";

/** The thread replies to each message before it gets the next. */
export type ReportQuestion =
  | { readonly kind: "open"; readonly dir: string }
  | { readonly kind: "rows"; readonly text: string; readonly parameters: readonly SQLQueryBindings[] }
  | {
      readonly kind: "compare";
      readonly query: Omit<ComparisonQuery, "signal">;
      readonly prices: ComparedPrices;
    }
  /** The next rows of the same result. */
  | { readonly kind: "more" }
  | { readonly kind: "begin" | "end" | "fold" | "check" | "close" };

export interface ReportRows {
  readonly rows: readonly unknown[];
  readonly isComplete: boolean;
}
