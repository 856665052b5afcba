import type { NodeEvent, NodeTiming } from "./node.ts";
import type { PostgresLocation } from "./settings.ts";
import type { MoneyRules } from "./shared-batch.ts";

/** How a gateway joins a database that several share. */
export interface NodeSettings {
  readonly location: PostgresLocation;
  /** For display. Several nodes may share a name. */
  readonly name: string;
  readonly version: string;
  /** The data folder: charges that the database has not acknowledged are kept there. */
  readonly dir: string;
  readonly timing?: NodeTiming | undefined;
  readonly rules: MoneyRules;
  readonly report: (event: NodeEvent) => void;
}
