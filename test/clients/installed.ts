import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Clients that are too large to be dependencies are installed when a test asks for them, into a cache folder
 * that is shared by all checkouts. Where that cannot be done the tests that need them are skipped, aloud.
 */
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sluice-test-clients");
const patienceMs = 240_000;

/** They take their time, so they are run once, against what is shipped. */
export const runsLargeClients = process.env["SLUICE_TEST_TARGET"] === "executable";

/** The path of a package's command, or null when it cannot be had. */
export async function npmCommand(name: string, version: string, command: string): Promise<string | null> {
  const folder = await installed(`${name.replaceAll("/", "-")}-${version}`, (into) => [
    ["npm", "install", "--prefix", into, "--no-audit", "--no-fund", "--no-save", `${name}@${version}`],
  ]);
  return folder === null ? null : join(folder, "node_modules", ".bin", command);
}

/** The Python of a virtual environment that has these packages (`openai==3.49.0`), or null. */
export async function pythonWith(packages: readonly string[]): Promise<string | null> {
  const folder = await installed(`python-${packages.join("-").replaceAll("==", "-")}`, (into) => [
    ["python3", "-m", "venv", into],
    [join(into, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check", ...packages],
  ]);
  return folder === null ? null : join(folder, "bin", "python");
}

/** Made beside its place and then moved there, so that what is there is whole. */
async function installed(
  name: string,
  commands: (into: string) => readonly (readonly string[])[],
): Promise<string | null> {
  const place = join(cache, name);
  if (existsSync(place)) return place;
  const workshop = `${place}.${process.pid}`;
  try {
    mkdirSync(workshop, { recursive: true });
    for (const command of commands(workshop)) await run(command);
    renameSync(workshop, place);
    return place;
  } catch (error) {
    console.warn(`\nSKIPPED: ${name} cannot be installed here, so its tests are not run.\n${error}\n`);
    return null;
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: patienceMs,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} gave ${code}:\n${stdout}${stderr}`.slice(0, 2000));
}
