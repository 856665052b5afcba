import { msPerDay, msPerHour } from "../../base/clock.ts";
import { isLabelName } from "../../base/requests/labels.ts";
import { countedLabel } from "./label-column.ts";

/** The column with the time of a row of totals, and its unit in milliseconds. */
export interface TimeColumn {
  readonly column: string;
  readonly unitMs: number;
}

/** The detail that a report needs: only rows have minutes and everything else, and totals are read over all keys where possible. */
export type Detail = "key" | "minute" | "row";

/** A dimension that usage can be grouped by. */
export interface Dimension {
  readonly needs: readonly Detail[];
  /** Whether its name takes an argument after a colon. */
  readonly hasArgument?: true;
  /** An SQL expression over the columns of totals or rows. */
  of(time: TimeColumn, argument?: string): string;
  /** The SQL expression to display for a value. The empty text is shown as null. */
  shown?(value: string): string;
  /** The SQL expression of `of` for a value that is shown. */
  stored?(shown: string): string;
  /** Formats a value that the database returned. */
  text?(value: string | number): string;
}

/** Steps of a whole number of minutes. */
export function timeSteps(stepMs: number, text: (startMs: number) => string): Dimension {
  return {
    needs: stepMs < msPerHour ? ["minute"] : [],
    of: ({ column, unitMs }) => `${column} / ${stepMs / unitMs}`,
    shown: (value) => `${value}::float8`,
    text: (value) => text(Number(value) * stepMs),
  };
}

/** To add a dimension, add an entry here and, unless it is a column of `usage_rows`, a column to the views behind it. */
const dimensions = {
  hour: timeSteps(msPerHour, (startMs) => `${new Date(startMs).toISOString().slice(0, 16)}Z`),
  day: timeSteps(msPerDay, (startMs) => new Date(startMs).toISOString().slice(0, 10)),
  month: {
    needs: [],
    of: ({ column, unitMs }) =>
      `to_char(to_timestamp(${unitMs < 1000 ? `${column} / 1000` : `${column} * ${unitMs / 1000}`}) AT TIME ZONE 'UTC', 'YYYY-MM')`,
  },
  key: {
    needs: ["key"],
    of: () => "key_no",
    shown: (value) => `(SELECT id FROM keys WHERE no = ${value})`,
    stored: (shown) => `(SELECT no FROM keys WHERE id = ${shown})`,
  },
  // What was stored before owners were counts for whom the key belongs to now.
  owner: {
    needs: ["row"],
    of: () => `coalesce(${countedLabel("owner")}, (SELECT owner FROM keys WHERE no = key_no))`,
  },
  account: {
    needs: ["row"],
    of: () => "account_no",
    shown: (value) => `(SELECT id FROM accounts WHERE no = ${value})`,
    stored: (shown) => `(SELECT no FROM accounts WHERE id = ${shown})`,
  },
  model: { needs: [], of: () => "model" },
  provider: { needs: [], of: () => "provider" },
  route: { needs: ["row"], of: () => "route" },
  user: { needs: ["row"], of: () => countedLabel("user") },
  session: { needs: ["row"], of: () => countedLabel("session") },
  agent: { needs: ["row"], of: () => countedLabel("agent") },
  parent_agent: { needs: ["row"], of: () => countedLabel("parent_agent") },
  batch: { needs: ["row"], of: () => countedLabel("batch") },
  tag: { needs: ["row"], hasArgument: true, of: (_, name = "") => countedLabel(`tag:${name}`) },
} satisfies Readonly<Record<string, Dimension>>;

/** Dimensions that need an argument are shown with a placeholder. */
export const dimensionNames = Object.entries<Dimension>(dimensions).map(([name, { hasArgument }]) =>
  hasArgument === true ? `${name}:NAME` : name,
);

/** Null if there is no dimension of that name. */
export function dimensionOf(name: string): Dimension | null {
  const [base = "", ...rest] = name.split(":");
  const found = Object.entries<Dimension>(dimensions).find(([known]) => known === base)?.[1];
  if (found === undefined || rest.length > 0 !== (found.hasArgument === true)) return null;
  if (found.hasArgument === true && !isLabelName(name)) return null;
  return { ...found, of: (time) => found.of(time, rest.join(":")) };
}
