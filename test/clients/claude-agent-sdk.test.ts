import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { Errand } from "./agents/errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { Workshop } from "./agents/run.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { startWorld, type World } from "./world.ts";

/** As much of the package as is used here. It cannot be a dependency, so its own types are not there. */
interface AgentSdk {
  query(asked: { readonly prompt: string; readonly options: object }): AsyncIterable<Message>;
}
interface Message {
  readonly type: string;
  readonly subtype?: string;
  readonly result?: string;
  readonly event?: JsonObject;
}

const claude = runsLargeClients ? await largeClients.claudeCode() : null;
const module = claude === null ? null : await largeClients.claudeAgentSdk();
if (!runsLargeClients) console.log("The Claude Agent SDK is run against the executable only.");

const suite = runsLargeClients ? describe.skipIf(module === null) : () => {};

suite("the Claude Agent SDK", () => {
  let world: World<AgentProvider>;
  let sdk: AgentSdk;

  beforeAll(async () => {
    sdk = await import(module ?? "");
    world = await startWorld(startAgentProvider());
  }, 120_000);

  afterAll(() => world.dispose());

  function errand(work: string, secret: string): Errand {
    const read = { file_path: `${work}/first.txt` };
    const write = { file_path: `${work}/answer.txt`, content: `${secret} 😀` };
    return {
      steps: [
        {
          thinking: "The file has to be seen.",
          calls: [{ call: { type: "call", id: "toolu_read", name: "Read", input: read }, expects: secret }],
        },
        {
          thinking: "Now it can be written down.",
          calls: [
            { call: { type: "call", id: "toolu_write", name: "Write", input: write }, expects: "answer.txt" },
          ],
        },
      ],
      farewell: `The file says ${secret}.`,
    };
  }

  test.each([...speakerNames])(
    "runs an errand with tools, and sees its answers in pieces, on a provider of %s",
    async (dialect) => {
      const secret = crypto.randomUUID();
      using workshop = new Workshop({ "first.txt": `first ${secret}` });
      world.provider.send(errand(workshop.work, secret));
      const { url, key, model } = world.access(dialect);
      const messages: Message[] = [];
      const options = {
        model,
        cwd: workshop.work,
        pathToClaudeCodeExecutable: claude,
        permissionMode: "acceptEdits",
        allowedTools: ["Read", "Write"],
        includePartialMessages: true,
        settingSources: [],
        env: {
          PATH: process.env["PATH"],
          HOME: workshop.home,
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_AUTH_TOKEN: key,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
          IS_SANDBOX: "1",
        },
      };
      const prompt = "Say what the file holds, and write it down.";
      for await (const message of sdk.query({ prompt, options })) messages.push(message);
      expect(world.provider.complaints).toEqual([]);
      expect(messages.at(-1)).toMatchObject({
        type: "result",
        subtype: "success",
        result: `The file says ${secret}.`,
      });
      const pieces = messages.filter(({ type }) => type === "stream_event");
      expect(pieces.some(({ event }) => event?.["type"] === "content_block_delta")).toBe(true);
      expect(world.provider.steps).toEqual([0, 1, 2]);
      expect(await workshop.read("answer.txt")).toBe(`${secret} 😀`);
    },
    60_000,
  );
});
