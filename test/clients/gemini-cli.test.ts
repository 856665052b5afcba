import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentCall, Errand } from "./agents/errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { runAgent, Workshop } from "./agents/run.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { startWorld, type World } from "./world.ts";

const cli = runsLargeClients ? await largeClients.geminiCli() : null;
if (!runsLargeClients) console.log("Gemini CLI is run against the executable only.");

function call(name: string, id: string, input: AgentCall["call"]["input"], expects: string): AgentCall {
  return { call: { type: "call", id, name, input }, expects };
}

function errandFor(secret: string): Errand {
  const content = `"${secret}" 😀`;
  const looks = [
    call("read_file", "call_look", { file_path: "first.txt" }, secret),
    call("list_directory", "call_list", { dir_path: "." }, "first.txt"),
  ];
  return {
    steps: [
      { thinking: "Look first – à lire.", calls: looks },
      { calls: [call("write_file", "call_write", { file_path: "answer.txt", content }, "answer.txt")] },
    ],
    farewell: `The file says ${secret}.`,
  };
}

const settings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

const suite = runsLargeClients ? describe.skipIf(cli === null) : () => {};

suite("the real Gemini CLI", () => {
  let world: World<AgentProvider>;

  beforeAll(async () => {
    world = await startWorld(startAgentProvider());
  }, 120_000);

  afterAll(() => world.dispose());

  // One provider, and not each: it takes 4 s of CPU time, and the packages that it is made of are driven on all of them.
  test("runs an errand with two calls at once, through several turns, and brings Claude's thinking back", async () => {
    const secret = crypto.randomUUID();
    const errand = errandFor(secret);
    using workshop = new Workshop({ "first.txt": `first ${secret}` });
    mkdirSync(join(workshop.home, ".gemini"));
    writeFileSync(join(workshop.home, ".gemini", "settings.json"), JSON.stringify(settings));
    world.provider.send(errand);
    const { url, key, model } = world.access("messages");
    const ask = ["--yolo", "--skip-trust", "--model", model, "--prompt", "Say what the file holds."];
    const { code, stdout } = await runAgent([cli ?? "", ...ask], workshop, {
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
    });
    expect(world.provider.complaints).toEqual([]);
    expect(stdout).toContain(errand.farewell);
    expect(code).toBe(0);
    expect(await workshop.read("answer.txt")).toBe(`"${secret}" 😀`);
    expect(world.provider.steps).toEqual([0, 1, 2]);
  }, 120_000);
});
