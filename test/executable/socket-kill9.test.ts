import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Entry } from "../../src/store/store.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { SocketClient } from "../support/socket.ts";

const cycles = process.env["SLUICE_SOAK"] === "1" ? 100 : 3;
const clients = 4;

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterAll(async () => {
  await sluice.dispose();
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
    const exported = await sluice.cli("ledger", "export", "--format", "jsonl");
    const entries = exported.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry);
    const charges = entries.filter(({ kind }) => kind === "charge");
    expect(charges).toHaveLength(seen);
    expect(new Set(charges.map(({ outcome }) => outcome))).toEqual(new Set(["completed"]));
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
  },
  10 * 60_000,
);
