import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Errand, StoreProblem } from "./agents/errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { runAgent, Workshop } from "./agents/run.ts";
import { png } from "./conversation/scenarios.ts";
import { dialectSpeakers, type SpeakerName, speakerNames, speakers } from "./conversation/speakers.ts";
import type { Access } from "./drivers/client.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { startWorld, type World } from "./world.ts";

const claude = runsLargeClients ? await largeClients.claudeCode() : null;
if (!runsLargeClients) console.log("Claude Code is run against the executable only.");

/** Two tools at once, then one that shows a picture, then one that changes something, then the end. */
function errandIn(folder: string, secret: string): Errand {
  return {
    steps: [
      {
        thinking: "Both files have to be seen, the one by a command.",
        calls: [
          {
            call: {
              type: "call",
              id: "toolu_look",
              name: "Bash",
              input: { command: "cat first.txt", description: "Show the first file" },
            },
            expects: `first ${secret}`,
          },
          {
            call: {
              type: "call",
              id: "toolu_read",
              name: "Read",
              input: { file_path: `${folder}/second.txt` },
            },
            expects: `second ${secret}`,
          },
        ],
      },
      {
        thinking: "There is a picture as well.",
        calls: [
          {
            call: {
              type: "call",
              id: "toolu_picture",
              name: "Read",
              input: { file_path: `${folder}/point.png` },
            },
            expects: { picture: png },
          },
        ],
      },
      {
        thinking: "Now it can be written down – à la fin.",
        calls: [
          {
            call: {
              type: "call",
              id: "toolu_write",
              name: "Write",
              input: { file_path: `${folder}/answer.txt`, content: `"${secret}" 😀\n` },
            },
            expects: "answer.txt",
          },
        ],
      },
    ],
    farewell: farewell(secret),
  };
}

function farewell(secret: string): string {
  return `Both files say ${secret}.`;
}

function commandFor({ url, key, model }: Access) {
  return {
    args: [
      ...["-p", "Compare the two files and write down what they share.", "--model", model],
      ...["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Write", "--output-format", "json"],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    },
  };
}

/** It lists only models whose ids contain `claude` or `anthropic`. */
const aliases: Readonly<Record<SpeakerName, string>> = {
  chat: "claude-by-chat",
  responses: "anthropic/by-responses",
  messages: "claude-by-messages",
  gemini: "claude-by-gemini",
  converse: "claude-by-converse",
  "gemini-at-vertex": "claude-by-gemini-at-vertex",
  "messages-at-vertex": "claude-by-messages-at-vertex",
  "responses-at-azure": "anthropic/by-responses-at-azure",
  "chat-at-azure": "claude-by-chat-at-azure",
};

const suite = runsLargeClients ? describe.skipIf(claude === null) : () => {};

suite("the real Claude Code", () => {
  let world: World<AgentProvider>;

  beforeAll(async () => {
    world = await startWorld(startAgentProvider(), { aliases });
  }, 120_000);

  afterAll(() => world.dispose());

  interface Finished {
    readonly code: number;
    /** The one object that it prints. */
    readonly told: Readonly<Record<string, unknown>>;
    /** The text that its task was to write to a file. */
    readonly written: string;
    /** What it has found out about the models. */
    readonly models: unknown;
  }

  async function run(dialect: SpeakerName, secret: string, ...problems: StoreProblem[]): Promise<Finished> {
    using workshop = new Workshop({
      "first.txt": `first ${secret}`,
      "second.txt": `second ${secret}`,
      "point.png": Buffer.from(png, "base64"),
    });
    world.provider.send({ ...errandIn(workshop.work, secret), problems });
    const { args, env } = commandFor(world.access(dialect));
    const { code, stdout } = await runAgent([claude ?? "", ...args], workshop, env);
    const models = Bun.file(join(workshop.home, ".claude/cache/gateway-models.json"));
    return {
      code,
      told: JSON.parse(stdout),
      written: await workshop.read("answer.txt"),
      models: (await models.exists()) ? await models.json() : null,
    };
  }

  function expectDone({ code, told, written }: Finished, secret: string): void {
    expect(world.provider.complaints).toEqual([]);
    expect(told).toMatchObject({ is_error: false, result: farewell(secret), permission_denials: [] });
    expect(code).toBe(0);
    expect(written).toBe(`"${secret}" 😀\n`);
  }

  const timeoutMs = 120_000;

  test.each([...speakerNames])(
    "runs an errand, and asks again without what is rejected by name and after an answer that breaks off, on a provider of %s",
    async (dialect) => {
      const secret = crypto.randomUUID();
      const finished = await run(dialect, secret, "no effort", "breaks off");
      expectDone(finished, secret);
      // A call of Gemini comes whole, and Claude Code runs it although the answer broke off behind it.
      expect(world.provider.steps).toEqual(
        speakers[dialect].dialect === "gemini" ? [0, 1, 2, 3] : [0, 0, 1, 2, 3],
      );
      // It has looked for models whose names it takes for Claude's.
      expect(finished.models).toMatchObject({
        baseUrl: world.sluice.url,
        models: Object.values(aliases).map((id) => ({ id, display_name: id })),
      });
    },
    timeoutMs,
  );

  test.each([...dialectSpeakers])(
    "understands by how much a prompt is too long, on a provider of %s",
    async (dialect) => {
      const { told } = await run(dialect, "", "too long");
      expect(told).toMatchObject({ is_error: true, terminal_reason: "prompt_too_long" });
      expect(told["result"]).toContain("~210000 tokens (limit 200000)");
    },
    timeoutMs,
  );
});
