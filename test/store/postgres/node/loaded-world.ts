import { expect } from "bun:test";
import { waitFor } from "../../../support/wait.ts";
import { NodeLoad } from "./node-load.ts";
import { type JoinedNode, type JoinOptions, NodeWorld } from "./world.ts";

const callers = 16;

/** Two nodes under load, and what to do with them at the end. */
export interface LoadedWorld {
  readonly world: NodeWorld;
  readonly nodes: readonly [JoinedNode, JoinedNode];
  /** Resolves when so many more charges were acknowledged. */
  moreDone(what: string, exchanges?: number): Promise<void>;
  /** Waits for every answer, then expects the ledger to match what the callers got. */
  settleAndCheck(): Promise<void>;
}

export async function loadedWorld(
  given?: NodeWorld,
  options: Partial<JoinOptions> = {},
): Promise<LoadedWorld> {
  const world = given ?? (await NodeWorld.create());
  const nodes = [await world.join(options), await world.join(options)] as const;
  const keyIds = await Promise.all(Array.from({ length: 4 }, () => world.addKey(1_000_000_000)));
  const load = new NodeLoad(
    nodes.map(({ node }) => node),
    keyIds,
  );
  load.start(callers);
  return {
    world,
    nodes,
    moreDone: async (what, exchanges = 100) => {
      const before = load.acknowledged;
      await waitFor(() => load.acknowledged >= before + exchanges, what, 120_000);
    },
    settleAndCheck: async () => {
      try {
        await load.stop();
        // A caller is given up after 30 seconds of silence, but its charge is sent until it is acknowledged.
        const isSent = () => nodes.every(({ node }) => node.stats.pendingItems === 0);
        await waitFor(isSent, "the last charge to be acknowledged", 120_000);
        await waitFor(async () => (await world.leftovers())["holds"] === 0, "the last hold to end", 120_000);
        await load.check(world.client);
        expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
      } catch (error) {
        // Shown here, because a clean-up that fails as well would hide it.
        console.error(error, nodes.map(stateOf));
        throw error;
      }
    },
  };
}

function stateOf({ node, events }: JoinedNode) {
  const { no, problem, stats } = node;
  return { no, problem, stats, events: events.map(({ kind }) => kind).join() };
}
