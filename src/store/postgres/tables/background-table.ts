import { type Queries, query } from "../../query.ts";
import type { TurnRecord } from "../../records.ts";
import {
  type BackgroundStatements,
  backgroundValues,
  endBackground,
  insertBackground,
  progressBackground,
} from "../../tables/background-table.ts";
import { storedRow, turnOf } from "../lanes/hold-end.ts";
import { storableJson } from "../text.ts";

export function backgroundStatements({ changeTogether }: Queries): BackgroundStatements {
  return {
    begin: (begun, turn, response) =>
      changeTogether(function* () {
        yield* keepTurn(turn);
        if (response !== null) {
          const row = storableJson([storedRow(begun.exchangeId, response)]);
          yield* query("SELECT sluice_store_responses($1::text::json)", [row]);
        }
        yield* query(insertBackground, backgroundValues(begun));
      }),

    progress: (owned) => changeTogether(() => progressBackground(owned)),

    end: (end) =>
      changeTogether(function* () {
        if ((yield* endBackground(end)) && end.turn !== null) yield* keepTurn(end.turn);
      }),

    isAbandoned: goneNode("b"),
  };
}

/** A condition: the process that runs a row of this table is gone, and its charges are made. */
export function goneNode(table: string): string {
  return `NOT EXISTS (SELECT FROM nodes WHERE nodes.no = ${table}.node_no AND nodes.cleared_at IS NULL)`;
}

function keepTurn(turn: TurnRecord) {
  return query("SELECT sluice_keep_turns($1::text::json)", [storableJson([turnOf(turn)])]);
}
