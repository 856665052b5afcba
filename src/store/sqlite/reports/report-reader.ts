import type { Parameter, Query, Work } from "../../query.ts";
import type { ReportQueries } from "../../reporting/stored-reports.ts";
import { bindable, performWith, sqliteText } from "../queries.ts";
import { ReportsFile } from "./reports-file.ts";

/** Runs statements for operators, which may take long. */
export interface ReportReader extends ReportQueries {
  readonly read: Query;
  /** Several statements that see the same state. */
  readTogether<Result>(work: () => Work<Result>): Promise<Result>;
  /** Reads the whole ledger; at most three problems, none if it is intact. */
  findDamage(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Reports of a command, whose process does nothing else. */
export function commandReader(dir: string): ReportReader {
  let opened: ReportsFile | null = null;
  const file = () => (opened ??= new ReportsFile(dir));
  const rowsOf = (text: string, parameters: readonly Parameter[] = []) =>
    file().rows(sqliteText(text), parameters.map(bindable));
  return {
    // What the rows look like is the statement's promise.
    read: async <Row>(text: string, parameters?: readonly Parameter[]) => rowsOf(text, parameters) as Row[],
    async readTogether(work) {
      file().begin();
      try {
        return performWith(rowsOf, work());
      } finally {
        file().end();
      }
    },
    async fold() {
      file().fold();
    },
    compareCosts: async (query, prices) => file().compareCosts(query, prices),
    findDamage: async () => file().findDamage(),
    async close() {
      opened?.close();
    },
  };
}
