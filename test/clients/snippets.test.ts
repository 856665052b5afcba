import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { type ClientId, clientIds } from "../../src/base/models/client-snippets.ts";
import { projectRoot } from "../architecture/imports.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { agentTimeoutMs, runAgent, Workshop } from "./agents/run.ts";
import { largeClients, runsLargeClients } from "./installed.ts";

/** Too large to install for two lines, slow to start, not in a package manager, or calls a tool before it answers. */
const untried: readonly ClientId[] = ["open-webui", "aider", "crush", "zed", "qwen-code"];

interface Trial {
  readonly client: () => Promise<string | null>;
  /** The shell's line: the snippet, and what makes the client answer once and end. */
  readonly line: (snippet: string, client: string) => string;
  /** The name under which the snippet is written to the working folder, if it is a file. */
  readonly file?: string;
}

const inPython: Trial = {
  client: largeClients.python,
  line: (_, python) => `${python} snippet.py`,
  file: "snippet.py",
};

const trials: Readonly<Partial<Record<ClientId, Trial>>> = {
  curl: { client: async () => Bun.which("curl"), line: (snippet) => snippet },
  openai: inPython,
  anthropic: inPython,
  langchain: inPython,
  "claude-code": { client: largeClients.claudeCode, line: (snippet) => `${snippet} -p Hello` },
  codex: {
    client: largeClients.codex,
    line: (snippet) => `${snippet} exec --skip-git-repo-check --disable plugins --disable apps Hello`,
  },
  "gemini-cli": {
    client: largeClients.geminiCli,
    line: (snippet) => `${snippet} --skip-trust --prompt Hello`,
  },
  "google-genai": {
    client: async () => process.execPath,
    line: (_, bun) => `ln -s ${join(projectRoot, "node_modules")} . && ${bun} snippet.ts`,
    file: "snippet.ts",
  },
  opencode: {
    client: largeClients.opencode,
    line: (_, opencode) => `${opencode} run --model sluice/demo-small Hello`,
    file: "opencode.json",
  },
  cline: {
    client: largeClients.cline,
    line: (snippet) => `${snippet}\ncline --json --auto-approve false --timeout 60 'Say hello'`,
  },
  llm: {
    client: largeClients.pythonWithLlm,
    line: (snippet, python) => `llm() { ${python} -m llm "$@"; }\n${snippet}`,
  },
  continue: {
    client: largeClients.continue,
    line: (_, cn) => `${cn} --config config.yaml -p Hello`,
    file: "config.yaml",
  },
};

/** They must not look for anything outside of this machine. */
const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  IS_SANDBOX: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  CONTINUE_TELEMETRY_ENABLED: "0",
};
/** A key's mode changes nothing that a client sees, so the quick ones stand for all with the second mode. */
const triedWithBothModes: readonly ClientId[] = ["curl", "openai", "anthropic"];
/** How every answer of the demo's small model begins. */
const demoResponse = /demo/i;
/** Two runs of a client, each with its own limit. */
const timeoutMs = 2 * agentTimeoutMs + 60_000;

const suite = runsLargeClients ? describe : () => {};
if (!runsLargeClients) console.log("The snippets are run against the executable only.");

/** Installed here, where no test's timeout runs: one that expires kills the gateway of all tests of this file with the installer. */
const commands = new Map<ClientId, string | null>();
if (runsLargeClients)
  for (const [id, { client }] of Object.entries(trials)) commands.set(id as ClientId, await client());
const installedIds = (ids: readonly ClientId[]) => ids.filter((id) => commands.get(id) !== null);
const missingIds = [...commands].filter(([, command]) => command === null).map(([id]) => id);

suite("the settings of the real client", () => {
  let sluice: Sluice;
  let keys: readonly TestKey[];

  beforeAll(async () => {
    sluice = await startSluice();
    keys = [await sluice.createKey(), await sluice.createKey({ mode: "token_budget" })];
  }, timeoutMs);
  afterAll(() => sluice.dispose());

  async function settingsOf(client: ClientId, key: TestKey): Promise<string> {
    const { code, stdout } = await sluice.cli(
      ...["connect", client, "--key", key.key, "--model", "demo-small", "--json"],
    );
    expect(code).toBe(0);
    return JSON.parse(stdout).settings;
  }

  async function requestsOf(key: TestKey): Promise<number> {
    const answer = await sluice.request("/v1/usage", { key });
    const { requests } = (await answer.json()) as { requests: { total: number } };
    return requests.total;
  }

  /** Runs a line of the shell in which the client is found by its name. */
  function type(
    line: string,
    client: string,
    workshop: Workshop,
    env: Readonly<Record<string, string>> = {},
  ) {
    const path = `${dirname(client)}:${process.env["PATH"]}`;
    return runAgent(["bash", "-euc", line], workshop, { ...quiet, PATH: path, ...env });
  }

  test.skip.each(missingIds)("%s cannot be installed here", () => {});

  test.each(installedIds([...commands.keys()]))(
    "%s works as it is shown",
    async (id) => {
      const { line, file } = trials[id] as Trial;
      const command = commands.get(id) ?? "";
      for (const key of triedWithBothModes.includes(id) ? keys : keys.slice(0, 1)) {
        const settings = await settingsOf(id, key);
        using workshop = new Workshop(file === undefined ? {} : { [file]: settings });
        const before = await requestsOf(key);
        const { code, stdout, stderr } = await type(line(settings, command), command, workshop);
        expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
        expect(stdout).toMatch(demoResponse);
        expect(await requestsOf(key)).toBeGreaterThan(before);
      }
    },
    timeoutMs,
  );

  test.each(installedIds(["claude-code", "codex"]))(
    "%s works without any argument after --write, and knows nothing of it after --undo",
    async (id) => {
      const command = commands.get(id) ?? "";
      const [key] = keys as [TestKey];
      using workshop = new Workshop({});
      const env = { HOME: workshop.home };
      const connect = (...args: string[]) =>
        type(`sluice connect ${id} ${args.join(" ")}`, join(sluiceFolder(), "sluice"), workshop, env);
      const written = await connect("--write", "--key", key.key, "--url", sluice.url);
      expect(written).toMatchObject({ code: 0, stderr: "" });
      const before = await requestsOf(key);
      const ask =
        id === "codex"
          ? "codex exec --skip-git-repo-check --disable plugins --disable apps Hello"
          : "claude -p Hello";
      const { code, stdout, stderr } = await type(ask, command, workshop);
      expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(demoResponse);
      const after = await requestsOf(key);
      expect(after).toBeGreaterThan(before);
      expect((await connect("--undo")).code).toBe(0);
      const kept = Bun.spawnSync(["grep", "-rlF", key.key, workshop.home]).stdout.toString();
      expect(kept).toBe("");
    },
    timeoutMs,
  );
});

function sluiceFolder(): string {
  return join(import.meta.dir, "..", "..", "dist");
}

test("every snippet is run against its client, or named as one that is not", () => {
  const all = [...Object.keys(trials), ...untried].toSorted();
  expect(all).toEqual(clientIds.toSorted());
});
