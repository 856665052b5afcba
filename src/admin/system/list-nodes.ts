import type { NodeRecord, NodeRecords } from "../../store/store.ts";
import { iso } from "../moments.ts";
import type { NodeView } from "./schema.ts";

/** The nodes of a shared database in the fields shared by the admin API, the dashboard and `--json`. */
export async function listNodes({
  nodes,
}: {
  nodes: Pick<NodeRecords, "list"> | null;
}): Promise<readonly NodeView[]> {
  return nodes === null ? [] : (await nodes.list()).map(nodeDocument);
}

function nodeDocument(node: NodeRecord): NodeView {
  return {
    node: node.no,
    name: node.name,
    version: node.version,
    state: node.state,
    since: iso(node.startedAtMs),
    in_flight: node.inFlight,
    holds: node.holds,
    heartbeat_at: iso(node.lastBeatMs),
  };
}
