import { assert } from "../../base/assert.ts";
import { msPerDay, msPerHour } from "../../base/clock.ts";
import type { Queries, Query } from "../query.ts";
import type { AttemptSums } from "../records.ts";
import type {
  ComparedCosts,
  ComparedPrices,
  ComparisonQuery,
  KeyDay,
  Reports,
  RequestLogSize,
} from "../reports.ts";
import { findCalled } from "../tables/id-tables.ts";
import { type AttemptPlace, selectAttemptSums, selectPageEnd } from "./attempt-columns.ts";
import { type Dimension, dimensionOf, timeSteps } from "./dimensions.ts";
import { type EntryFinder, findExchange, listExchanges } from "./exchange-search.ts";
import { searchEntries } from "./row-search.ts";
import { readStatements } from "./statement.ts";
import { groupedUsage, latencyBands, usageSeries } from "./usage-sums.ts";

const hoursPerDay = msPerDay / msPerHour;

/** The queries with which reports read a database. */
export interface ReportQueries extends Pick<Queries, "read"> {
  /** Adds new rows to the totals, so that the next report has few to add itself. */
  fold(): Promise<void>;
  /** Adds up what charges would have cost by other prices, away from the event loop where the database runs in this process. */
  compareCosts(query: ComparisonQuery, prices: ComparedPrices): Promise<ComparedCosts>;
}

/** Reports for operators, from totals and single rows. */
export function storedReports({ read, fold, compareCosts }: ReportQueries, entriesOf: EntryFinder): Reports {
  const usageByAll: Reports["usageByAll"] = async (names, { largest, ...query }) => {
    await fold();
    const order = largest === undefined ? "name" : "spend";
    const page = { order, skip: 0, limit: largest ?? Number.POSITIVE_INFINITY } as const;
    return (await groupedUsage(read, dimensionsOf(names), { ...query, ...page })).groups;
  };
  return {
    async usageInSteps({ stepMs, ...query }) {
      await fold();
      const page = { order: "name", skip: 0, limit: Number.POSITIVE_INFINITY } as const;
      const { groups } = await groupedUsage(read, [timeSteps(stepMs, String)], { ...query, ...page });
      return groups.map(({ groups: [startMs], ...totals }) => ({ startMs: Number(startMs), ...totals }));
    },

    async usageBy(dimension, query) {
      const rows = await usageByAll([dimension], query);
      return rows.map(({ groups, ...totals }) => ({ group: groups[0] ?? "", ...totals }));
    },

    usageByAll,

    async usagePage(names, query) {
      await fold();
      return groupedUsage(read, dimensionsOf(names), query);
    },

    async usageSeries(names, query) {
      await fold();
      return usageSeries(read, dimensionsOf(names), query);
    },

    async latencyInSteps(query) {
      await fold();
      return latencyBands(read, query);
    },

    async keyDays(keyIds, fromDay, throughDay) {
      await fold();
      return read<KeyDay>(
        `SELECT "keyId", day::float8 AS day, sum(spend_nano)::float8 AS "spendNano", sum(spend_tokens)::float8 AS "spendTokens"
        FROM (
          SELECT keys.id AS "keyId", hours.hour / ${hoursPerDay} AS day, hours.spend_nano, hours.spend_tokens
          FROM keys JOIN usage_hours hours ON hours.key_no = keys.no
            AND hours.hour BETWEEN $2::int8 * ${hoursPerDay} AND $3::int8 * ${hoursPerDay} + ${hoursPerDay - 1}
          WHERE keys.id = ANY ($1::text[])
          UNION ALL
          SELECT keys.id, uncounted.at_ms / ${msPerDay}, uncounted.spend_nano, uncounted.spend_tokens
          FROM uncounted_usage uncounted JOIN keys ON keys.no = uncounted.key_no
          WHERE keys.id = ANY ($1::text[]) AND uncounted.at_ms / ${msPerDay} BETWEEN $2::int8 AND $3::int8
        ) days GROUP BY "keyId", day`,
        [keyIds, fromDay, throughDay],
      );
    },

    async keyLastDays(keyIds) {
      await fold();
      const rows = await read<{ keyId: string; day: number }>(
        `SELECT "keyId", max(day)::float8 AS day FROM (
          SELECT keys.id AS "keyId", (SELECT max(hours.hour) FROM usage_hours hours WHERE hours.key_no = keys.no) / ${hoursPerDay} AS day
          FROM keys WHERE keys.id = ANY ($1::text[])
          UNION ALL
          SELECT keys.id, uncounted.at_ms / ${msPerDay} FROM uncounted_usage uncounted JOIN keys ON keys.no = uncounted.key_no
          WHERE keys.id = ANY ($1::text[])
        ) days WHERE day IS NOT NULL GROUP BY "keyId"`,
        [keyIds],
      );
      return new Map(rows.map(({ keyId, day }) => [keyId, day]));
    },

    exchanges: (query) => listExchanges(read, query),
    exchange: (exchangeId, entryId) => findExchange(read, entriesOf, exchangeId, entryId),
    exchangesCalled: (callerId, limit) => findCalled(read, callerId, limit),

    /** Rows are deleted in id order, so all ids between the first and the last exist. */
    async requestLogSize() {
      const [kept] = await read<RequestLogSize>(
        `SELECT coalesce(min(id), 0)::float8 AS "firstId", coalesce(max(id) - min(id) + 1, 0)::float8 AS count,
          (SELECT at_ms::float8 FROM exchange_endings ORDER BY id LIMIT 1) AS "oldestAtMs" FROM exchange_endings`,
      );
      return kept ?? { firstId: 0, oldestAtMs: null, count: 0 };
    },

    statements: (query) => readStatements(read, query),
    entries: (query) => searchEntries(read, query),

    compareCosts,

    attemptPages: (provider, fromDay, throughDay) => attemptPages(read, provider, fromDay, throughDay),
  };
}

function dimensionsOf(names: readonly string[]): Dimension[] {
  return names.map((name) => {
    const dimension = dimensionOf(name);
    assert(dimension !== null, `usage is not grouped by ${name}`);
    return dimension;
  });
}

const attemptsPerPage = 500;

/**
 * The totals of a provider between two days, both included, page by page: a year of a hundred models is a hundred
 * thousand rows.
 */
async function* attemptPages(
  read: Query,
  provider: string,
  fromDay: number,
  throughDay: number,
): AsyncGenerator<readonly AttemptSums[]> {
  // No row has an empty outcome, so this sorts before all rows of that day.
  let after: AttemptPlace = [fromDay, "", "", ""];
  for (;;) {
    const parameters = [provider, ...after];
    const [last] = await read<AttemptSums>(selectPageEnd, [...parameters, throughDay, attemptsPerPage - 1]);
    const through: AttemptPlace = last === undefined ? [throughDay + 1, "", "", ""] : placeOf(last);
    const page = await read<AttemptSums>(selectAttemptSums, [...parameters, ...through]);
    if (page.length > 0) yield page;
    if (last === undefined) return;
    after = through;
  }
}

function placeOf({ day, credential, upstreamModel, outcome }: AttemptSums): AttemptPlace {
  return [day, credential, upstreamModel, outcome];
}
