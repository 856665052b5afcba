import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { newFolder } from "../support/new-folder.ts";
import type { AgentCall, Errand } from "./agents/errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { runAgent, Workshop } from "./agents/run.ts";
import { png } from "./conversation/scenarios.ts";
import { dialectSpeakers, type SpeakerName, speakerNames } from "./conversation/speakers.ts";
import type { Access } from "./drivers/client.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { startWorld, type World } from "./world.ts";

const codex = runsLargeClients ? await largeClients.codex() : null;
if (!runsLargeClients) console.log("Codex is run against the executable only.");

/**
 * What Codex offers depends on the name of the model: plain functions to one that it does not know, a
 * free-form patch tool to gpt-5.5, and to gpt-5.6 one free-form tool for scripts, which comes in an input
 * item and not in `tools`.
 */
const families: Readonly<Record<string, (secret: string) => readonly AgentCall[]>> = {
  unknown: (secret) => [
    shell("call_look", "cat first.txt", secret),
    {
      call: { type: "call", id: "call_picture", name: "view_image", input: { path: "point.png" } },
      expects: { picture: png },
    },
    shell("call_write", write(secret), ""),
  ],
  "gpt-5.5": (secret) => [
    shell("call_look", "cat first.txt", secret),
    freeform("call_patch", "apply_patch", patch(secret), "answer.txt"),
  ],
  "gpt-5.6-sol": (secret) => [
    freeform("call_look", "exec", script("cat first.txt"), secret),
    freeform("call_write", "exec", script(write(secret)), ""),
  ],
};

function shell(id: string, cmd: string, expects: string): AgentCall {
  return { call: { type: "call", id, name: "exec_command", input: { cmd } }, expects };
}

function freeform(id: string, name: string, input: string, expects: string): AgentCall {
  return { call: { type: "call", id, name, input: { input }, freeform: true }, expects };
}

function write(secret: string): string {
  return `printf '%s' '"${secret}" 😀' > answer.txt`;
}

function script(cmd: string): string {
  return `const shown = await tools.exec_command({ cmd: ${JSON.stringify(cmd)} });\ntext(shown.output);\n`;
}

function patch(secret: string): string {
  return `*** Begin Patch\n*** Add File: answer.txt\n+"${secret}" 😀\n*** End Patch\n`;
}

function errandFor(family: string, secret: string): Errand {
  const calls = families[family]?.(secret) ?? [];
  return {
    steps: calls.map((call, index) => ({ thinking: `Step ${index} – à faire.`, calls: [call] })),
    farewell: `The file says ${secret}.`,
  };
}

interface Way {
  readonly onSocket?: boolean;
  /** After every answer. Only a provider of OpenAI's name is asked to do it; else Codex asks for a summary itself. */
  readonly compacts?: true;
}

function argumentsFor({ url, model }: Access, { onSocket = false, compacts }: Way): string[] {
  const name = compacts === true ? "OpenAI" : "sluice";
  const provider = `{name="${name}",base_url="${url}/v1",env_key="SLUICE_KEY",wire_api="responses",supports_websockets=${onSocket}}`;
  return [
    ...["exec", "--json", "--ephemeral", "--skip-git-repo-check"],
    // Its sandbox needs rights that a container does not have; the commands are our own.
    ...["--dangerously-bypass-approvals-and-sandbox", "--model", model],
    ...["-c", "model_provider=sluice", "-c", `model_providers.sluice=${provider}`],
    ...["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"],
    // They are looked for at addresses outside of this machine. What Codex asks its model is the same without them.
    ...["--disable", "plugins", "--disable", "apps"],
    ...(compacts === true ? ["-c", "model_auto_compact_token_limit=500"] : []),
    "Say what the file holds, and write it down.",
  ];
}

/** The events that Codex prints, one to a line. */
function messagesIn(stdout: string): string[] {
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .flatMap(({ item }) => (item?.type === "agent_message" ? [item.text] : []));
}

const suite = runsLargeClients ? describe.skipIf(codex === null) : () => {};

suite("the real Codex", () => {
  let world: World<AgentProvider>;
  /** Codex fills a new one with a database and skills, which takes a quarter of a run. */
  const home = newFolder();

  beforeAll(async () => {
    world = await startWorld(startAgentProvider(), { families: Object.keys(families) });
  }, 120_000);

  afterAll(async () => {
    await world.dispose();
    rmSync(home, { recursive: true, force: true });
  });

  interface Finished {
    readonly code: number;
    readonly stdout: string;
    /** The text that its task was to write to a file. */
    readonly written: string;
  }

  async function run(
    family: string,
    dialect: SpeakerName,
    errand: Errand,
    secret: string,
    way: Way = {},
  ): Promise<Finished> {
    using workshop = new Workshop({
      "first.txt": `first ${secret}`,
      "point.png": Buffer.from(png, "base64"),
    });
    world.provider.send(errand);
    const access = world.access(dialect, family);
    const { code, stdout } = await runAgent([codex ?? "", ...argumentsFor(access, way)], workshop, {
      CODEX_HOME: home,
      SLUICE_KEY: access.key,
    });
    return { code, stdout, written: await workshop.read("answer.txt") };
  }

  function expectDone({ code, stdout, written }: Finished, errand: Errand, secret: string): void {
    expect(world.provider.complaints).toEqual([]);
    expect(messagesIn(stdout)).toEqual([errand.farewell]);
    expect(code).toBe(0);
    expect(written.trim()).toBe(`"${secret}" 😀`);
  }

  const timeoutMs = 120_000;
  /** The third runs its errand below, with an answer that breaks off. */
  const cases = ["unknown", "gpt-5.6-sol"].flatMap((family) =>
    dialectSpeakers.map((dialect): [string, SpeakerName] => [family, dialect]),
  );

  test.each(cases)(
    "runs an errand as for the model %s, through several turns, on a provider of %s",
    async (family, dialect) => {
      const secret = crypto.randomUUID();
      const errand = errandFor(family, secret);
      expectDone(await run(family, dialect, errand, secret), errand, secret);
      expect(world.provider.steps).toEqual([...errand.steps.keys(), errand.steps.length]);
    },
    timeoutMs,
  );

  test.each([...speakerNames])(
    "runs an errand over WebSocket, through several turns, on a provider of %s",
    async (dialect) => {
      const secret = crypto.randomUUID();
      const errand = errandFor("gpt-5.5", secret);
      const before = await world.socketsOpened();
      expectDone(await run("gpt-5.5", dialect, errand, secret, { onSocket: true }), errand, secret);
      expect(world.provider.steps).toEqual([...errand.steps.keys(), errand.steps.length]);
      expect(await world.socketsOpened()).toBe(before + 1);
    },
    timeoutMs,
  );

  const compactions = speakerNames.flatMap((dialect) =>
    ["HTTP", "WebSocket"].map((transport) => [transport, dialect] as const),
  );

  test.each(compactions)(
    "has its conversation compacted over %s, and goes on from that, on a provider of %s",
    async (transport, dialect) => {
      const secret = crypto.randomUUID();
      const errand: Errand = {
        steps: [{ calls: [shell("call_look", "cat first.txt", secret)] }],
        farewell: "It is done.",
        summary: "The file was read – c'est fait.",
      };
      const way: Way = { onSocket: transport === "WebSocket", compacts: true };
      const { code, stdout } = await run("gpt-5.5", dialect, errand, secret, way);
      expect(world.provider.complaints).toEqual([]);
      expect(messagesIn(stdout)).toEqual([errand.farewell]);
      expect(code).toBe(0);
    },
    timeoutMs,
  );

  test.each([...dialectSpeakers])(
    "runs an errand as for the model gpt-5.5, and asks again after an answer that breaks off, on a provider of %s",
    async (dialect) => {
      const secret = crypto.randomUUID();
      const errand: Errand = { ...errandFor("gpt-5.5", secret), problems: ["breaks off"] };
      expectDone(await run("gpt-5.5", dialect, errand, secret), errand, secret);
      expect(world.provider.steps).toEqual([0, ...errand.steps.keys(), errand.steps.length]);
    },
    timeoutMs,
  );

  test.each([...dialectSpeakers])(
    "is told at once that a prompt is too long, on a provider of %s",
    async (dialect) => {
      const errand: Errand = { ...errandFor("gpt-5.5", ""), problems: ["too long"] };
      const { code, stdout } = await run("gpt-5.5", dialect, errand, "");
      expect(code).toBe(1);
      expect(stdout).toContain("context_length_exceeded");
      expect(stdout).toContain('"turn.failed"');
    },
    timeoutMs,
  );
});
