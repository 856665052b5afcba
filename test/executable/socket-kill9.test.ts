import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { migratedDatabase } from "../store/postgres/fixtures.ts";
import { cutBefore } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { hasPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { SocketClient } from "../support/socket.ts";
import { waitFor } from "../support/wait.ts";

const cycles = process.env["SLUICE_SOAK"] === "1" ? 100 : 3;
const clients = 4;

describe.each(hasPostgres ? ["SQLite", "PostgreSQL"] : ["SQLite"])("on %s", (store) => {
  let provider: ScriptedProvider;
  let sluice: Sluice;
  let database: Awaited<ReturnType<typeof migratedDatabase>> | null = null;

  beforeAll(async () => {
    provider = startProvider();
    const config = configFor({ url: provider.url, head: "[routes]\nconversations = true\n" });
    if (store === "PostgreSQL") database = await migratedDatabase();
    sluice = await startSluice({ config, env: database === null ? {} : { SLUICE_STORE: database.url } });
  });
  afterAll(async () => {
    await sluice.dispose();
    await database?.[Symbol.asyncDispose]();
    provider.stop();
  });

  test(
    `${cycles} kills right after a terminal frame lose no charge, and what was stored is continued`,
    async () => {
      const { key } = await sluice.createKey({ credit: 1000 });
      let seen = 0;
      let last: string | null = null;
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        const sockets = await Promise.all(
          Array.from({ length: clients }, () => SocketClient.open(sluice.url, key)),
        );
        for (const socket of sockets)
          socket.create({ model: "claude-test", input: "Hi", previous_response_id: last });
        const ends = await Promise.all(sockets.map((socket) => socket.end()));
        await sluice.kill9();
        expect(new Set(ends.map(({ type }) => type))).toEqual(new Set(["response.completed"]));
        seen += ends.length;
        last = ends[0]?.response.id ?? null;
        await sluice.restart();
      }
      const outcomes = await chargedOutcomes();
      expect(outcomes).toHaveLength(seen);
      expect(new Set(outcomes)).toEqual(new Set(["completed"]));
    },
    10 * 60_000,
  );

  test(
    `${cycles} kills in the middle of a turn leave the conversation as it was, and free`,
    async () => {
      const { key } = await sluice.createKey({ credit: 1000 });
      const before = (await chargedOutcomes()).length;
      const ask = async (method: string, path: string) => {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${sluice.url}/v1/conversations${path}`, { method, headers });
        return (await response.json()) as { id: string; data: readonly object[] };
      };
      const { id } = await ask("POST", "");
      const turn = { model: "claude-test", conversation: id, input: "Hi" };
      for (let cycle = 1; cycle <= cycles; cycle += 1) {
        const victim = await SocketClient.open(sluice.url, key);
        provider.script(
          cutBefore(answerFrom("messages/text.sse"), "event: message_delta", [{ stall: true }]),
        );
        victim.create(turn);
        await waitFor(
          () => victim.frames.some(({ type }) => type.endsWith(".delta")),
          "a part of the answer",
        );
        await sluice.kill9();
        provider.reset();
        await sluice.restart();
        const socket = await SocketClient.open(sluice.url, key);
        expect((await socket.ask(turn)).type).toBe("response.completed");
        expect((await ask("GET", `/${id}/items?limit=100`)).data).toHaveLength(2 * cycle);
      }
      const outcomes = (await chargedOutcomes()).slice(before);
      expect(outcomes.filter((outcome) => outcome === "completed")).toHaveLength(cycles);
      // Those that were killed are charged once for what was journaled of them, if anything was.
      expect(outcomes.filter((outcome) => outcome !== "completed").length).toBeLessThanOrEqual(cycles);
    },
    10 * 60_000,
  );

  async function chargedOutcomes(): Promise<readonly (string | null)[]> {
    const exported = await sluice.run("ledger", "export", "--format", "jsonl");
    const entries = exported.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as EntryView);
    expect((await sluice.run("ledger", "audit")).code).toBe(0);
    return entries.filter(({ kind }) => kind === "charge").map(({ outcome }) => outcome);
  }
});
