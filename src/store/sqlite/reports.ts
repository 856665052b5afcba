import type { Database } from "bun:sqlite";
import type { Entry } from "../records.ts";
import type {
  Cut,
  EntrySearch,
  ExchangeQuery,
  FiledExchange,
  FiledUsage,
  GroupSums,
  KeyDay,
  LatencyBand,
  RangeQuery,
  Reports,
  StepQuery,
  StepSums,
} from "../reports.ts";
import { patiently } from "./connection.ts";
import { EntrySearcher } from "./report-entries.ts";

const msPerHour = 3_600_000;
const msPerDay = 24 * msPerHour;

/** The dashboard's questions, answered from the sums of migration 002 and, one by one, from the entries. */
export class SqliteReports implements Reports {
  readonly #database: Database;
  readonly #patienceMs: number;
  readonly #entries: EntrySearcher;

  constructor(database: Database, patienceMs: number) {
    this.#database = database;
    this.#patienceMs = patienceMs;
    this.#entries = new EntrySearcher(database);
  }

  usageInSteps(query: StepQuery): Promise<readonly StepSums[]> {
    return this.#all<StepSums>(
      `SELECT hour / $stepHours AS step, ${sums} FROM usage_by_model_hour
      WHERE hour >= $since AND hour < $until GROUP BY 1 ORDER BY 1`,
      stepParameters(query),
    );
  }

  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]> {
    return this.#all<LatencyBand>(
      `SELECT hour / $stepHours AS step, measure, up_to_ms AS upToMs, sum(requests) AS requests FROM latency_all_hours
      WHERE hour >= $since AND hour < $until GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      stepParameters(query),
    );
  }

  topBy(
    column: "model" | "provider",
    { sinceMs, untilMs, limit }: RangeQuery,
  ): Promise<readonly GroupSums[]> {
    return this.#all<GroupSums>(
      `SELECT ${column} AS "group", ${sums} FROM usage_by_model_hour
      WHERE hour >= $since AND hour < $until GROUP BY 1 ORDER BY costNano DESC, requests DESC LIMIT $limit`,
      { ...hours(sinceMs, untilMs), limit },
    );
  }

  /** Key by key in the order of the table, so that no sorting is needed before the sums are known. */
  async topKeys({ sinceMs, untilMs, limit }: RangeQuery): Promise<readonly GroupSums[]> {
    const days = { since: Math.floor(sinceMs / msPerDay), until: Math.ceil(untilMs / msPerDay) };
    const [newest] = await this.#all<{ no: number | null }>("SELECT max(no) AS no FROM keys", {});
    let top: GroupSums[] = [];
    for (let from = 1; from <= (newest?.no ?? 0); from += keysPerPiece) {
      const piece = { from, to: from + keysPerPiece - 1, limit };
      top = [...top, ...(await this.#all<GroupSums>(topKeysOfPiece, { ...days, ...piece }))];
      await Bun.sleep(0);
    }
    return top.sort((a, b) => b.costNano - a.costNano || b.requests - a.requests).slice(0, limit);
  }

  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]> {
    const places = keyIds.map((_, place) => `$key${place}`).join(", ");
    const ids = Object.fromEntries(keyIds.map((id, place) => [`key${place}`, id]));
    return this.#all<KeyDay>(
      `SELECT keys.id AS keyId, day, sum(cost_nano) AS costNano, sum(input_tokens + output_tokens) AS tokens
      FROM keys CROSS JOIN usage_key_days AS days ON days.key_no = keys.no
      WHERE keys.id IN (${places}) AND day BETWEEN $fromDay AND $throughDay GROUP BY 1, 2`,
      { ...ids, fromDay, throughDay },
    );
  }

  exchanges(query: ExchangeQuery): Promise<Cut<FiledUsage>> {
    return this.#entries.exchanges(query);
  }

  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null> {
    return this.#entries.exchange(exchangeId, entryId);
  }

  entries(query: EntrySearch): Promise<Cut<Entry>> {
    return this.#entries.entries(query);
  }

  #all<Row>(sql: string, parameters: Record<string, string | number>): Promise<readonly Row[]> {
    return patiently(this.#patienceMs, () =>
      this.#database.query<Row, Record<string, string | number>>(sql).all(parameters),
    );
  }
}

/** So many keys are added up without giving way: a month of them takes about ten milliseconds. */
const keysPerPiece = 2000;

const sums = `
  sum(requests) AS requests, sum(failures) AS failures, sum(input_tokens) AS inputTokens,
  sum(output_tokens) AS outputTokens, sum(cost_nano) AS costNano`;

function hours(sinceMs: number, untilMs: number): { since: number; until: number } {
  return { since: Math.floor(sinceMs / msPerHour), until: Math.ceil(untilMs / msPerHour) };
}

function stepParameters({ sinceMs, untilMs, stepHours }: StepQuery): Record<string, number> {
  return { ...hours(sinceMs, untilMs), stepHours };
}

const topKeysOfPiece = `
SELECT keys.id AS "group", ${sums}
FROM keys CROSS JOIN usage_key_days AS days ON days.key_no = keys.no AND day >= $since AND day < $until
WHERE keys.no BETWEEN $from AND $to
GROUP BY keys.no ORDER BY costNano DESC, requests DESC LIMIT $limit`;
