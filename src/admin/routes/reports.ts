import { Type } from "@sinclair/typebox";
import { dimensionNames } from "../../store/store.ts";
import { entryPage, exchangeDetail, exchangePage } from "../answers/exchanges.ts";
import { modelViews } from "../answers/models.ts";
import { Overview } from "../answers/overview.ts";
import { usage } from "../answers/usage.ts";
import type { AdminDeps } from "../deps.ts";
import { findAccount } from "../operations/accounts.ts";
import { askedLabels } from "../operations/find-exchanges.ts";
import { findKey } from "../operations/find-key.ts";
import { chosenRange, momentOf } from "../operations/moments.ts";
import { statementOf } from "../operations/statement.ts";
import { dimensionWords, readDimensions } from "../operations/usage-report.ts";
import { endings, entryKinds, entryView, exchangeDetailView, exchangeView } from "../views/exchanges.ts";
import { modelView } from "../views/models.ts";
import { oneOf, pageOf, text, when } from "../views/shapes.ts";
import { statementView } from "../views/statement.ts";
import { overviewRanges, overviewView, usageView } from "../views/usage.ts";
import { AdminError, notFound } from "./refusal.ts";
import { type AdminRoute, get } from "./route.ts";

const limit = Type.Integer({ minimum: 1, maximum: 500, default: 50 });
const cursor = Type.Optional(Type.Integer({ minimum: 1, description: "`next_cursor` of the page before." }));
const key = Type.Optional(text("A key's id, prefix or unique label."));

const exchangeQuery = Type.Object({
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        "A request's id, ours or the client's; a key by its id, prefix, label or owner; an error's code; or a tag such as `project=atlas`.",
    }),
  ),
  key,
  model: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  route: Type.Optional(Type.String()),
  outcome: Type.Optional(oneOf(endings)),
  code: Type.Optional(text("The error's code, such as `upstream_error`.")),
  user: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
  tag: Type.Optional(text("A tag and its value, such as `project=atlas`.")),
  since: Type.Optional(when),
  until: Type.Optional(when),
  cursor: Type.Optional(
    Type.String({ pattern: "^\\d{1,15}\\.\\d{1,15}$", description: "`next_cursor` of the page before." }),
  ),
  limit,
});

const account = Type.Optional(text("An account's id or unique label."));

const entryQuery = Type.Object({ key, account, kind: Type.Optional(oneOf(entryKinds)), cursor, limit });

const usageQuery = Type.Object({
  by: Type.String({
    default: "day",
    description: `One of ${dimensionNames.join(", ")}; or several of them with commas between, such as \`key,model\`.`,
  }),
  since: Type.Optional(when),
  until: Type.Optional(when),
  key,
  account: Type.Optional(text("Only what this account paid for, by its id.")),
});

const statementQuery = Type.Object({
  month: Type.String({ pattern: "^\\d{4}-(0[1-9]|1[0-2])$", description: "Such as `2026-10`, UTC." }),
  account,
});

const overviewQuery = Type.Object({
  range: oneOf(overviewRanges, "24h"),
});

export function reportRoutes(deps: AdminDeps): readonly AdminRoute[] {
  const overview = new Overview(deps);
  return [
    get(
      "/overview",
      "Figures and charts of a time",
      { query: overviewQuery, answers: overviewView },
      async ({ query }) => {
        await deps.flushEndings();
        return overview.of(query.range);
      },
    ),
    get(
      "/usage",
      "Usage added up",
      { role: "holder", query: usageQuery, answers: usageView },
      async ({ query: { by, since, until, key, account } }) => {
        await deps.flushEndings();
        const nowMs = deps.clock.wallMs();
        const range = chosenRange(momentOf(since, nowMs), momentOf(until, nowMs), nowMs);
        if (range === null) throw endsBeforeItBegins();
        const dimensions = readDimensions(by);
        if (dimensions === null)
          throw new AdminError(400, "invalid_request", `\`by\` is ${dimensionWords}.`, { param: "by" });
        return usage(deps, { by: dimensions, ...range, key, account });
      },
    ),
    get(
      "/exchanges",
      "Exchanges, newest first",
      { role: "holder", query: exchangeQuery, answers: pageOf(exchangeView) },
      async ({ query: { key, since, until, user, session, tag, ...filters } }) => {
        await deps.flushEndings();
        const nowMs = deps.clock.wallMs();
        const [sinceMs, untilMs] = [momentOf(since, nowMs), momentOf(until, nowMs)];
        const labels = askedLabels({ user, session, tag });
        return exchangePage(deps, { ...filters, labels, sinceMs, untilMs, keyId: await keyIdOf(deps, key) });
      },
    ),
    get(
      "/exchanges/:id",
      "An exchange: why it ended as it did, its attempts and its ledger entries",
      {
        role: "holder",
        query: Type.Object({
          entry: Type.Optional(Type.Integer({ minimum: 1, description: "Where to look; makes it instant." })),
        }),
        answers: exchangeDetailView,
      },
      async ({ params, query, caller }) => {
        await deps.flushEndings();
        const detail = await exchangeDetail(deps, params["id"] ?? "", query.entry ?? null, caller);
        if (detail === null) throw notFound("such exchange: it is unknown, or was pruned");
        return detail;
      },
    ),
    get(
      "/entries",
      "Ledger entries, newest first",
      { role: "holder", query: entryQuery, answers: pageOf(entryView) },
      async ({ query: { key, account, cursor, ...filters } }) => {
        const accountId = account === undefined ? undefined : (await findAccount(deps, account)).id;
        return entryPage(deps, {
          ...filters,
          accountId,
          keyId: await keyIdOf(deps, key),
          beforeId: cursor,
        });
      },
    ),
    get(
      "/statement",
      "What a month was charged and paid, to the last digit",
      { query: statementQuery, answers: statementView },
      ({ query }) => statementOf(deps, query),
    ),
    get("/models", "Models and the health of their deployments", { answers: pageOf(modelView) }, () => ({
      data: modelViews(deps),
      next_cursor: null,
    })),
  ];
}

function endsBeforeItBegins(): AdminError {
  return new AdminError(400, "invalid_request", "`until` must be after `since`.", { param: "until" });
}

async function keyIdOf(deps: AdminDeps, key: string | undefined): Promise<string | undefined> {
  return key === undefined ? undefined : (await findKey(deps, key)).id;
}
