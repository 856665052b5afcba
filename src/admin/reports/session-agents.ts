import { Type } from "@sinclair/typebox";
import { type GroupedTotals, sumTotals, type UsageTotals } from "../../store/store.ts";
import { AdminError } from "../formats/admin-error.ts";
import { when } from "../formats/shapes.ts";
import { findKey } from "../key-terms/find-key.ts";
import { chosenRange, iso, momentOf } from "../moments.ts";
import { keyFilter } from "../requests/schema.ts";
import { type AdminRoute, get } from "../routes/route.ts";
import { type SessionAgentsView, sessionAgentsView } from "./schema.ts";
import { usageTotalsView } from "./usage-totals-view.ts";

/** Agents, each with the one that started it. The largest are listed. */
const maxGroups = 500;

const agentsQuery = Type.Object({
  session: Type.String({ minLength: 1, description: "The conversation id that the client sent." }),
  key: keyFilter,
  since: Type.Optional(when),
  until: Type.Optional(when),
});

export const sessionAgentRoutes: readonly AdminRoute[] = [
  get(
    "/usage/agents",
    "Report the usage of each agent of one session, as a tree",
    { query: agentsQuery, answers: sessionAgentsView, limitedAs: "reports" },
    async ({
      deps,
      query: { session, key, since, until },
      request: { signal },
    }): Promise<SessionAgentsView> => {
      await deps.flushRequestLog();
      const nowMs = deps.clock.wallMs();
      const range = chosenRange(momentOf(since, nowMs), momentOf(until, nowMs), nowMs);
      if (range === null)
        throw new AdminError(400, "invalid_request", "`until` must be after `since`.", { param: "until" });
      const keyId = key === undefined ? undefined : (await findKey(deps, key)).id;
      const page = { order: "worth", skip: 0, limit: maxGroups } as const;
      const { groups, count, total } = await deps.store.reports.usagePage(["agent", "parent_agent"], {
        ...{ ...range, ...page },
        ...{ session, keyId, signal },
      });
      return {
        since: iso(range.sinceMs),
        until: iso(range.untilMs),
        data: inTreeOrder(agentsOf(groups)).map(({ agent, parent, depth, totals }) => ({
          ...{ agent, parent_agent: parent, depth },
          ...usageTotalsView(totals),
        })),
        total: usageTotalsView(total),
        complete: groups.length === count,
      };
    },
  ),
];

interface Agent {
  /** Null for the main conversation. */
  readonly agent: string | null;
  readonly parent: string | null;
  readonly totals: UsageTotals;
}

/** An agent that was sent with several parents counts for the one with the largest cost. */
function agentsOf(groups: readonly GroupedTotals[]): readonly Agent[] {
  const byAgent = Map.groupBy(groups, ({ groups: [agent = null] }) => agent);
  return [...byAgent].map(([agent, rows]) => {
    const parents = rows.flatMap(({ groups: [, parent] }) => parent ?? []);
    return { agent, parent: agent === null ? null : (parents[0] ?? null), totals: sumTotals(rows) };
  });
}

/** Agents whose parent is not listed belong to the main conversation, and so do agents that name each other as parents. */
function inTreeOrder(agents: readonly Agent[]): readonly (Agent & { readonly depth: number })[] {
  const known = new Set(agents.map(({ agent }) => agent));
  const started = Map.groupBy(
    agents.filter(({ agent }) => agent !== null),
    ({ parent }) => (known.has(parent) ? parent : null),
  );
  const placed = new Map<string | null, Agent & { readonly depth: number }>();
  const place = (agent: Agent, depth: number) => {
    if (placed.has(agent.agent)) return;
    placed.set(agent.agent, { ...agent, depth });
    for (const child of started.get(agent.agent) ?? []) place(child, depth + 1);
  };
  for (const agent of agents) if (agent.agent === null) place(agent, 0);
  const top = placed.size;
  for (const agent of [...(started.get(null) ?? []), ...agents]) place(agent, top);
  return [...placed.values()];
}
