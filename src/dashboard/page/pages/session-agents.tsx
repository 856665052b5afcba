import type { SessionAgentsView, SessionAgentView } from "../../../admin/reports/schema.ts";
import { useAnswer } from "../api.ts";
import { count, credits } from "../format.ts";
import { Card } from "../parts/card.tsx";
import { Money } from "../parts/money.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { hrefOf, parameters, query } from "../router.ts";

/** The indent of one level of the tree, and the deepest level that is indented further. */
const indentEm = 1.2;
const deepest = 8;

function hrefOfAgent(agent: string): string {
  const search = new URLSearchParams(query.value);
  search.set("agent", agent);
  search.delete("cursor");
  return hrefOf(`requests?${search}`);
}

/** Agents that are counted together as `other` have no filter. */
function AgentName({ agent }: Pick<SessionAgentView, "agent">) {
  if (agent === null) return <>Main conversation</>;
  return agent === "other" ? <>other</> : <a href={hrefOfAgent(agent)}>{agent}</a>;
}

const columns: readonly Column<SessionAgentView>[] = [
  {
    name: "Agent",
    class: "lead",
    phone: "title",
    cell: ({ agent, depth }) => (
      <span style={{ paddingInlineStart: `${Math.min(depth, deepest) * indentEm}em` }}>
        <AgentName agent={agent} />
      </span>
    ),
  },
  {
    name: "Requests",
    class: "number",
    phone: "side",
    phoneUnit: "requests",
    cell: ({ recorded_requests: requests }) => count(requests),
  },
  {
    name: "Input",
    class: "number",
    minor: true,
    cell: ({ input_tokens: input }) => <Tokens value={input} />,
  },
  {
    name: "Output",
    class: "number",
    minor: true,
    cell: ({ output_tokens: output }) => <Tokens value={output} />,
  },
  {
    name: "Cost",
    class: "number",
    phone: "value",
    cell: ({ spend }) => <Money amount={spend} />,
    note: ({ list_cost: listed }) => listed > 0 && `${credits(listed)} list`,
  },
];

/** The tree of a session's agents; nothing for a session without agents. */
export function SessionAgents({ session }: { session: string }) {
  const agents = useAnswer<SessionAgentsView>("/usage/agents", 0, {
    session,
    ...parameters(["key", "since", "until"]),
  });
  const { data = [], complete = true } = agents.value ?? {};
  if (agents.error === null && data.every(({ agent }) => agent === null)) return null;
  const range = query.value.has("since") || query.value.has("until") ? "" : ", last 7 days";
  return (
    <Card title={`Agents of this session${range}`}>
      <LoadedContent loaded={agents} rows={3}>
        {() => <Table rows={data} columns={columns} keyOf={({ agent }) => agent ?? ""} />}
      </LoadedContent>
      {!complete && <p class="muted pad">Only the {count(data.length)} largest are listed.</p>}
    </Card>
  );
}
