import { describe, expect, test } from "bun:test";
import type { IssuedKeyView } from "../../../src/admin/key-terms/schema.ts";
import type { SessionAgentsView } from "../../../src/admin/reports/schema.ts";
import { settleItem } from "../../store/fixtures.ts";
import { type AdminServer, startAdmin } from "./fixtures.ts";

describe("the agents of a session", () => {
  type Sent = readonly [costNano: number, agent: string | null, parent: string | null, session?: string];

  async function sendAll(admin: AdminServer, all: readonly Sent[]): Promise<string> {
    const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 10 });
    const items = all.map(([costNano, agent, parent_agent, session = "s1"]) => {
      const labels = Object.entries({ session, agent, parent_agent }).filter(([, value]) => value !== null);
      return settleItem(id, costNano, { labels: JSON.stringify(Object.fromEntries(labels)) });
    });
    await admin.store.commit(items);
    return id;
  }

  const treeOf = ({ data }: SessionAgentsView) =>
    data.map(({ depth, agent, parent_agent, recorded_requests: requests, spend }) => {
      return [depth, agent, parent_agent, requests, spend];
    });

  test("are a tree with the requests and cost of each, which add up to the session", async () => {
    await using admin = await startAdmin();
    await sendAll(admin, [
      [1_000_000_000, null, null],
      [2_000_000_000, "a1", null],
      [4_000_000_000, "a2", "a1"],
      [8_000_000_000, "a2", "a1"],
      [500_000_000, "a3", "a1"],
      [250_000_000, "a4", "unknown"],
      [9_000_000_000, "a1", null, "another"],
    ]);
    const agents = await admin.json<SessionAgentsView>("/usage/agents?session=s1&since=7d");
    expect(treeOf(agents)).toEqual([
      [0, null, null, 1, 1],
      [1, "a1", null, 1, 2],
      [2, "a2", "a1", 2, 12],
      [2, "a3", "a1", 1, 0.5],
      [1, "a4", "unknown", 1, 0.25],
    ]);
    expect(agents.total).toMatchObject({ recorded_requests: 6, spend: 15.75 });
    expect(agents.complete).toBe(true);
    expect((await admin.json<SessionAgentsView>("/usage/agents?session=nothing")).data).toEqual([]);
    expect((await admin.call("/usage/agents")).status).toBe(400);
  });

  test("are each listed once, also if a client sends a circle or several parents", async () => {
    await using admin = await startAdmin();
    await sendAll(admin, [
      [8_000_000_000, "a1", "a2"],
      [4_000_000_000, "a2", "a1"],
      [2_000_000_000, "a3", "a3"],
      [1_000_000_000, "a2", "a3"],
    ]);
    const agents = await admin.json<SessionAgentsView>("/usage/agents?session=s1&since=7d");
    expect(treeOf(agents)).toEqual([
      [0, "a1", "a2", 1, 8],
      [1, "a2", "a1", 2, 5],
      [0, "a3", "a3", 1, 2],
    ]);
  });

  test("are of one key where it is chosen, and the 500 largest of many are listed", async () => {
    await using admin = await startAdmin();
    const many = Array.from({ length: 501 }, (_, place): Sent => [1_000_000_000 + place, `a${place}`, null]);
    await sendAll(admin, many);
    const id = await sendAll(admin, [[1_000_000_000, "b1", null]]);
    const all = await admin.json<SessionAgentsView>("/usage/agents?session=s1");
    expect([all.data.length, all.complete, all.total.recorded_requests]).toEqual([500, false, 502]);
    const own = await admin.json<SessionAgentsView>(`/usage/agents?session=s1&key=${id}`);
    expect(treeOf(own)).toEqual([[0, "b1", null, 1, 1]]);
  });
});
