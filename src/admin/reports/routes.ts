import { Type } from "@sinclair/typebox";
import { mapInTurns } from "../../base/loop/in-turns.ts";
import { dimensionNames, type FiledExchange } from "../../store/store.ts";
import { findAccount } from "../accounts/accounts.ts";
import { statementOf } from "../accounts/statement.ts";
import { statementView } from "../accounts/statement-schema.ts";
import { OperationError } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError } from "../formats/admin-error.ts";
import { oneOf, pageOf, text, when } from "../formats/shapes.ts";
import { findKey } from "../key-terms/find-key.ts";
import { keyView } from "../keys/key-list.ts";
import { chosenRange, momentOf } from "../moments.ts";
import { entryDocument, exchangeDetailDocument, exchangeDocument } from "../requests/exchange-document.ts";
import { findExchange, requestedLabels, searchExchanges } from "../requests/find-exchanges.ts";
import {
  entryKinds,
  entryView,
  exchangeDetailView,
  exchangeView,
  keyFilter,
  requestFilters,
  requestOutcomes,
} from "../requests/schema.ts";
import { type AdminRoute, get } from "../routes/route.ts";
import { overviews } from "./overview.ts";
import { type ChartStep, chartSteps, overviewRanges, overviewView, usageView } from "./schema.ts";
import { dimensionText, namesOfGroups, readDimensions, usageReport } from "./usage-report.ts";
import { otherModel } from "./what-if.ts";

const maxGroups = 1_000;

const limit = Type.Integer({ minimum: 1, maximum: 500, default: 50 });
const cursor = Type.Optional(
  Type.Integer({ minimum: 1, description: "`next_cursor` of the previous page." }),
);

const exchangeQuery = Type.Object({
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        "A request's id, ours or the client's; a key by its id, prefix, label or owner; an error's code; or a tag such as `project=atlas`.",
    }),
  ),
  key: keyFilter,
  model: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  route: Type.Optional(Type.String()),
  outcome: Type.Optional(oneOf(requestOutcomes)),
  ...requestFilters,
  since: Type.Optional(when),
  until: Type.Optional(when),
  cursor: Type.Optional(
    Type.String({ pattern: "^\\d{1,15}\\.\\d{1,15}$", description: "`next_cursor` of the previous page." }),
  ),
  limit,
});

const account = Type.Optional(text("An account's id or unique label."));

const entryQuery = Type.Object({
  key: keyFilter,
  account,
  kind: Type.Optional(oneOf(entryKinds)),
  cursor,
  limit,
});

const usageQuery = Type.Object({
  by: Type.String({
    default: "day",
    description: `One of ${dimensionNames.join(", ")}; or several separated by commas, such as \`key,model\`.`,
  }),
  since: Type.Optional(when),
  until: Type.Optional(when),
  key: keyFilter,
  account: Type.Optional(text("Only requests billed to this account, by its id.")),
  as: Type.Optional(text("A model: also return what the requests would have cost on it. Not for members.")),
  chart: Type.Optional(
    Type.Unsafe<ChartStep>({
      ...oneOf(chartSteps),
      description: "Also return totals over time, in these steps.",
    }),
  ),
  cursor: Type.Optional(Type.Integer({ minimum: 1, description: "`next_cursor` of the previous page." })),
  limit: Type.Integer({ minimum: 1, maximum: maxGroups, default: maxGroups }),
});

const statementQuery = Type.Object({
  month: text("A UTC month, such as `2026-10`."),
  account,
});

const overviewQuery = Type.Object({
  range: oneOf(overviewRanges, "24h"),
});

const onlyOwnFigures = () =>
  new AdminError(403, "role_needed", "Members cannot request the prices of other models.");

export function reportRoutes(deps: AdminDeps): readonly AdminRoute[] {
  const overviewOf = overviews(deps);
  const keyOf = (id: string) => deps.keys.byId(id) ?? null;
  return [
    get(
      "/overview",
      "Totals and charts for a time range",
      { query: overviewQuery, answers: overviewView },
      async ({ query }) => {
        await deps.flushRequestLog();
        return overviewOf(query.range);
      },
    ),
    get(
      "/usage",
      "Report usage by time, key, model or other dimensions",
      { role: "member", query: usageQuery, answers: usageView, limitedAs: "reports" },
      async ({
        query: { by, since, until, key, account, as: other, chart: step, cursor: skip, limit },
        request: { signal },
        caller,
      }) => {
        await deps.flushRequestLog();
        const nowMs = deps.clock.wallMs();
        const range = chosenRange(momentOf(since, nowMs), momentOf(until, nowMs), nowMs);
        if (range === null)
          throw new AdminError(400, "invalid_request", "`until` must be after `since`.", { param: "until" });
        const dimensions = readDimensions(by);
        if (dimensions === null)
          throw new AdminError(400, "invalid_request", `\`by\` is ${dimensionText}.`, { param: "by" });
        if (other !== undefined && caller.role === "member") throw onlyOwnFigures();
        const as = other === undefined ? undefined : otherModel(other, deps.settings(), deps.clock.wallMs());
        const reportQuery = { by: dimensions, ...range, key, account, step, as, skip, limit, signal };
        return usageReport(deps, reportQuery, (groups, by) => namesOfGroups(deps, by, groups));
      },
    ),
    get(
      "/requests",
      "List requests, newest first",
      { role: "member", query: exchangeQuery, answers: pageOf(exchangeView) },
      async ({ query: { key, since, until, user, session, agent, batch, tag, ...filters } }) => {
        await deps.flushRequestLog();
        const nowMs = deps.clock.wallMs();
        const [sinceMs, untilMs] = [momentOf(since, nowMs), momentOf(until, nowMs)];
        const labels = requestedLabels({ user, session, agent, batch, tag });
        const search = { ...filters, labels, sinceMs, untilMs, keyId: await keyIdOf(deps, key) };
        const { rows, next } = await searchExchanges(deps.store, search);
        const data = await mapInTurns(rows, (row) => exchangeDocument(row, keyOf));
        return { data, next_cursor: next };
      },
    ),
    get(
      "/requests/:id",
      "Show a request: its outcome explained, attempts and ledger entries",
      {
        role: "member",
        query: Type.Object({
          entry: Type.Optional(
            Type.Integer({
              minimum: 1,
              description: "The `entry` of the request in a list. Speeds up the lookup of old requests.",
            }),
          ),
        }),
        answers: exchangeDetailView,
      },
      async ({ named, query, caller }) => {
        await deps.flushRequestLog();
        const isShown = ({ exchange, entries }: FiledExchange) => {
          const key = keyOf(exchange?.keyId ?? entries[0]?.keyId ?? "");
          return caller.role !== "member" || (key !== null && caller.owns(key));
        };
        const found = await findExchange(deps.store, named, query.entry ?? null, isShown);
        if (found === null) throw unknownRequest(named);
        const key = keyOf(found.record.exchange?.keyId ?? "");
        const view = key && (await keyView(deps, key));
        return exchangeDetailDocument(
          found,
          keyOf,
          view,
          deps.live.feed.durationMs(found.id),
          deps.settings(),
        );
      },
    ),
    get(
      "/entries",
      "List ledger entries, newest first",
      { role: "member", query: entryQuery, answers: pageOf(entryView) },
      async ({ query: { key, account, cursor, ...filters } }) => {
        const accountId = account === undefined ? undefined : (await findAccount(deps, account)).id;
        const search = { ...filters, accountId, keyId: await keyIdOf(deps, key), beforeId: cursor };
        const { rows, next } = await deps.store.reports.entries(search);
        const data = await mapInTurns(rows, (row) => entryDocument(row, keyOf));
        return { data, next_cursor: next === null ? null : String(next) };
      },
    ),
    get(
      "/statement",
      "Monthly account statement",
      { query: statementQuery, answers: statementView, limitedAs: "reports" },
      ({ query }) => statementOf(deps, query),
    ),
  ];
}

function unknownRequest(id: string): OperationError {
  const why = `request ${id} not found. Requests without a valid key and idempotent replays are not recorded; older ones are deleted (see [retention])`;
  return new OperationError("not_found", why);
}

async function keyIdOf(deps: AdminDeps, key: string | undefined): Promise<string | undefined> {
  return key === undefined ? undefined : (await findKey(deps, key)).id;
}
