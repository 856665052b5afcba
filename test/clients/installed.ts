import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Clients that are too large to be dependencies are installed when a test asks for them, into a cache folder
 * that is shared by all checkouts. Where that cannot be done the tests that need them are skipped, aloud.
 */
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sluice-test-clients");
/** For each command of an installation. A machine that is slower, or has no network, skips the client's tests. */
const timeoutMs = 300_000;

/** They take their time, so they are run once, against what is shipped. */
export const runsLargeClients = process.env["SLUICE_TEST_TARGET"] === "executable";

/** The clients, each by what is needed of it. Null where it cannot be had. */
export const largeClients = {
  /** Google's and Amazon's own packages: first, because they prove the fakes before the executable is driven. */
  pythonWithCloudPackages: () => pythonWith("clouds.txt"),
  claudeCode: () => npmCommand("@anthropic-ai/claude-code", "2.1.325", "claude"),
  codex: () => npmCommand("@openai/codex", "0.166.0", "codex"),
  geminiCli: () => npmCommand("@google/gemini-cli", "0.61.0", "gemini"),
  opencode: () => npmCommand("opencode-ai", "1.18.33", "opencode"),
  cline: () => npmCommand("cline", "3.0.65", "cline"),
  continue: () => npmCommand("@continuedev/cli", "1.5.47", "cn"),
  /** Without the copy of Claude Code that it would bring along. */
  claudeAgentSdk: () => npmModule("@anthropic-ai/claude-agent-sdk", "0.3.325", "sdk.mjs"),
  /** The official Python packages, and the frameworks that take their current versions. */
  python: () => pythonWith("agents.txt"),
  pythonWithLlm: () => pythonWith("llm.txt"),
  pythonWithOlderPackages: () => pythonWith("older-openai.txt"),
} as const satisfies Readonly<Record<string, () => Promise<string | null>>>;

/** The path of a package's command. */
async function npmCommand(name: string, version: string, command: string): Promise<string | null> {
  const folder = await installed(`${name.replaceAll("/", "-")}-${version}`, (into) => [
    ["npm", "install", "--prefix", into, "--no-audit", "--no-fund", "--no-save", `${name}@${version}`],
  ]);
  return folder === null ? null : join(folder, "node_modules", ".bin", command);
}

/** The path of an installed package's module, without the packages that are optional to it. */
async function npmModule(name: string, version: string, module: string): Promise<string | null> {
  const folder = await installed(`module-${name.replaceAll("/", "-")}-${version}`, (into) => [
    [
      ...["npm", "install", "--prefix", into, "--no-audit", "--no-fund", "--no-save"],
      ...["--omit=optional", "--omit=peer", `${name}@${version}`],
    ],
  ]);
  return folder === null ? null : join(folder, "node_modules", name, module);
}

/** Installs the rest ten times as fast as pip does. */
const uv = "uv==0.13.7";

/** The Python of a virtual environment with the packages of a file in `python/`, each of them pinned. */
async function pythonWith(requirements: string): Promise<string | null> {
  const file = join(import.meta.dir, "python", requirements);
  const version = Bun.hash(readFileSync(file)).toString(36);
  const folder = await installed(`python-${requirements.replace(".txt", "")}-${version}`, (into) => {
    const python = join(into, "bin", "python");
    return [
      ["python3", "-c", "import sys; assert sys.version_info >= (3, 11), 'Python 3.11 is needed'"],
      ["python3", "-m", "venv", into],
      [python, "-m", "pip", "install", "--disable-pip-version-check", uv],
      // The file has everything, so that nothing needs to be resolved.
      [
        python,
        "-m",
        "uv",
        "pip",
        "install",
        "--python",
        python,
        "--no-deps",
        "--only-binary",
        ":all:",
        // Here and not when a test first imports them: it takes longer than the tests do.
        "--compile-bytecode",
        "-r",
        file,
      ],
    ];
  });
  return folder === null ? null : join(folder, "bin", "python");
}

/** Installs into a temporary folder and renames it, so that an existing installation is always complete. */
export async function installed(
  name: string,
  commands: (into: string) => readonly (readonly string[])[],
): Promise<string | null> {
  const place = join(cache, name);
  await untilNotInstalling(name);
  if (existsSync(place)) return place;
  const workshop = `${place}.${process.pid}`;
  try {
    mkdirSync(workshop, { recursive: true });
    for (const command of commands(workshop)) await run(command);
    renameSync(workshop, place);
    return place;
  } catch (error) {
    // Another process may have been faster.
    if (existsSync(place)) return place;
    console.warn(`\nSKIPPED: ${name} cannot be installed here, so its tests are not run.\n${error}\n`);
    return null;
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/**
 * Waits while another process installs the same, which ends sooner than installing it twice at once. The workshop's name has the
 * process's id, so that one that was killed is not waited for.
 */
async function untilNotInstalling(name: string): Promise<void> {
  const isUnderWay = () =>
    existsSync(cache) &&
    readdirSync(cache).some(
      (each) => each.startsWith(`${name}.`) && isRunning(Number(each.slice(name.length + 1))),
    );
  const deadlineMs = performance.now() + 2 * timeoutMs;
  while (performance.now() < deadlineMs && isUnderWay()) await Bun.sleep(200);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: timeoutMs,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} gave ${code}:\n${stdout}${stderr}`.slice(0, 2000));
}
