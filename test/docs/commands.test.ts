import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { buildProgram } from "../../src/cli/program.ts";
import { processTerminal } from "../../src/cli/terminal/terminal.ts";
import { builtInConfig } from "../../src/config/source.ts";
import { sluice as runCommand } from "../cli/fixtures.ts";
import { program } from "../support/process.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { commandsInProse, shellLines } from "./shell-lines.ts";

/** These need another machine or a real provider; suites of their own try what they stand for. */
const elsewhere =
  /^(npm|npx|apt|brew|docker|systemctl|install|cp|cat|claude|codex|bun|git|tar|pg_dump|pg_restore|dropdb|\( set -a|SLUICE_TOKEN=|sluice gateways|sluice keys list --gateway|sluice reconcile|sluice config init --local|sluice models (discover ollama|update))/;
/** These start or replace a gateway; `test/cli/serve`, `scenarios/restore`, `store/copy` and `store/ledger-file` do so. */
const startOrReplace = /^sluice (serve|restore|store (copy|export|import|reopen))\b/;

/** What a reader who comes from LiteLLM has. */
const litellmConfig = `model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
`;

const configuration = `${builtInConfig}\n[content]\nrecord = "all"\n`;

let sluice: Sluice;
let names: Record<string, string>;

beforeAll(async () => {
  sluice = await startSluice({
    config: configuration,
    env: { SLUICE_ADMIN_TOKEN: "a-token-of-the-documentation" },
  });
  const key = await sluice.createKey({ label: "laptop" });
  // Apart from the key that commands move, rotate and revoke.
  const caller = await sluice.createKey({ label: "caller" });
  const answer = await sluice.request("/v1/chat/completions", {
    key,
    body: { model: "demo-small", messages: [{ role: "user", content: "Hello" }] },
  });
  await answer.text();
  await sluice.cli("keys", "update", key.id, "--cap", "5/day");
  await sluice.cli("accounts", "create", "--mode", "credit", "--label", "zephyr");
  const { id: cap } = await sluice.cliJson<{ id: string }>("caps", "add", "20/day", "--each", "owner");
  const recorded = ["requests", "show", answer.headers.get("x-request-id") ?? "", "--content"];
  await waitFor(async () => (await sluice.cli(...recorded)).code === 0, "the content to be recorded");
  mkdirSync(join(sluice.folder, "backups"));
  writeFileSync(join(sluice.folder, "config.yaml"), litellmConfig);
  writeFileSync(join(sluice.folder, "sluice"), `#!/bin/sh\nexec ${program().join(" ")} "$@"\n`);
  chmodSync(join(sluice.folder, "sluice"), 0o755);
  names = {
    slu_8fK2mQ0x: key.id,
    req_0f3K9xTz: answer.headers.get("x-request-id") ?? "",
    cap_0f3K9xTz: cap,
    "http://127.0.0.1:8787": sluice.url,
    "/var/lib/sluice": join(sluice.folder, "data"),
    "/var/backups": join(sluice.folder, "backups"),
    "/etc/sluice": sluice.folder,
    $SLUICE_KEY: caller.key,
    $KEY: caller.key,
    "house-model": "demo-small",
    "--then claude-sonnet-5": "--then demo-small",
  };
});
afterAll(() => sluice.dispose());

test("every command and option that the documentation names is there", () => {
  const root = buildProgram(processTerminal());
  const lines = [...commandsInProse(), ...shellLines().filter(({ text }) => !text.startsWith("docker"))];
  const unknown = lines.flatMap(({ page, text }) =>
    commandLines(text).flatMap((words) =>
      unknownWords(root, words).map((word) => `${page}: ${text}: ${word}`),
    ),
  );
  expect(lines.length).toBeGreaterThan(80);
  expect(unknown).toEqual([]);
});

test("no pattern is left to the shell: zsh refuses a line whose pattern matches no file", () => {
  const lines = [...commandsInProse(), ...shellLines()].filter(({ text }) => {
    const unquoted = text.replaceAll(/'[^']*'|"[^"]*"/g, "");
    return /[*?[]/.test(unquoted);
  });
  expect(lines).toEqual([]);
});

test("what the documentation says to type does what it says", async () => {
  const lines = shellLines().filter(({ text }) => !elsewhere.test(text) && !startOrReplace.test(text));
  const functions = lines.filter(({ text }) => text.includes("() {")).map(({ text }) => asHere(text));
  const failed: string[] = [];
  let lastPage = "";
  for (const { page, text } of lines) {
    // Each page begins with the file that the gateway was started with, and what writes one finds none.
    if (page !== lastPage) writeFileSync(join(sluice.folder, "sluice.toml"), configuration);
    if (/^sluice config (init|import)/.test(text))
      rmSync(join(sluice.folder, "sluice.toml"), { force: true });
    lastPage = page;
    const { code, said, complained } = await typed(asHere(text), functions);
    if (code !== 0 || said.includes('"error"')) failed.push(`${page}: ${text}: ${code} ${said}${complained}`);
  }
  expect(failed).toEqual([]);
});

interface Typed {
  readonly code: number;
  readonly said: string;
  readonly complained: string;
}

/** Runs a line. One with nothing for a shell runs in this process, which takes a fraction of the time. */
async function typed(line: string, functions: readonly string[]): Promise<Typed> {
  const env = {
    SLUICE_DATA: join(sluice.folder, "data"),
    SLUICE_ADMIN_TOKEN: "a-token-of-the-documentation",
  };
  const words = plainWords(line);
  if (words?.[0] === "sluice") {
    const place = { folder: sluice.folder, env: { ...env, HOME: sluice.folder } };
    const { code, stdout, stderr } = await runCommand(place, ...words.slice(1));
    return { code, said: stdout, complained: stderr };
  }
  const child = Bun.spawn(["bash", "-euo", "pipefail", "-c", [...functions, line].join("\n")], {
    cwd: sluice.folder,
    env: { ...env, PATH: `${sluice.folder}:${process.env["PATH"]}`, HOME: sluice.folder },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, said, complained };
}

/** The words of a line without variables, pipes and other work for a shell; null if it has some. */
function plainWords(line: string): string[] | null {
  const words = line.match(/(?:"[^"$`\\]*"|'[^']*'|[^\s"'$`\\|&;<>()*?~#])+/g) ?? [];
  return words.join(" ") === line ? words.map((word) => word.replaceAll(/["']/g, "")) : null;
}

/** Examples name a key, a request and folders that are not here; these are. */
function asHere(text: string): string {
  return Object.entries(names).reduce((line, [name, here]) => line.replaceAll(name, here), text);
}

/** The words after each `sluice` on a line of shell. */
function commandLines(text: string): string[][] {
  const words = text.match(/"[^"]*"|'[^']*'|[^\s;]+|;/g) ?? [];
  const starts = words.flatMap((word, index) => (word === "sluice" ? [index + 1] : []));
  return starts.map((start) => {
    const end = words.findIndex((word, index) => index >= start && /^(;|&&|\)|\||>)$/.test(word));
    return words.slice(start, end === -1 ? undefined : end);
  });
}

function unknownWords(root: Command, words: readonly string[]): string[] {
  let command = root;
  const unknown: string[] = [];
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next !== undefined) command = next;
    else if (word.startsWith("--")) {
      const known = [...command.options, ...(command.parent?.options ?? [])];
      const [name] = word.split("=");
      if (name !== "--help" && !known.some(({ long }) => long === name)) unknown.push(word);
    } else if (command.commands.length > 0) unknown.push(word);
  }
  return unknown;
}
