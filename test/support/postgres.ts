import { chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob, SQL } from "bun";
import { freePort } from "./free-port.ts";

/** Debian keeps the server's programs out of the PATH, a folder per version; the newest is taken. */
const programs = findPrograms();
/** PostgreSQL refuses to run as root, so that another user has to. */
const serverUser = process.getuid?.() === 0 ? findUser(["postgres", "nobody"]) : null;

/** False where there is no PostgreSQL; tests that need one are then skipped, aloud and counted. */
export const hasPostgres = programs !== null && (process.getuid?.() !== 0 || serverUser !== null);
export const withoutPostgres = "SKIPPED: PostgreSQL is not installed, so nothing is known about it";

export interface PostgresOptions {
  /** With `isDurable`, on a real disk, as in production; without, in memory where there is enough of it. */
  readonly isDurable?: boolean;
  /** More lines of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines of pg_hba.conf; by default everybody on this machine is trusted. */
  readonly authentication?: readonly string[];
}

export type StopMode = "fast" | "immediate";

/** A real PostgreSQL on loopback, with a data folder of its own, which ends with the process that started it. */
export class PostgresServer implements Disposable {
  readonly port: number;
  readonly dir: string;
  readonly dataDir: string;
  #databases = 0;
  #strategy = "";
  #administrator: SQL | undefined;

  constructor(options: PostgresOptions = {}) {
    this.dir = mkdtempSync(join(options.isDurable ? tmpdir() : fastFolder(), "sluice-postgres-"));
    this.dataDir = join(this.dir, "data");
    if (serverUser !== null) chownSync(this.dir, serverUser.uid, serverUser.gid);
    this.port = freePort();
    this.#initialize(options);
    this.start();
    endWith(process.pid, this);
  }

  url(database = "postgres", user = "sluice"): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** A new database, empty or a copy of a template. The template must have no connections. */
  async createDatabase(template = "template1"): Promise<string> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    await this.run(`CREATE DATABASE ${name} TEMPLATE ${template} ${this.#strategy}`);
    return name;
  }

  dropDatabase(name: string): Promise<void> {
    return this.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  /** Runs statements as an administrator, each by itself, on one connection: a new one costs as much as a copy of a database. */
  async run(...statements: readonly string[]): Promise<void> {
    this.#administrator ??= new SQL({ url: this.url(), max: 1 });
    for (const statement of statements) await this.#administrator.unsafe(statement);
  }

  start(): void {
    this.program("pg_ctl", ["start", "-w", "-t", "60", "-D", this.dataDir, "-l", this.logFile]);
  }

  /** `immediate` is a crash: nothing is written, and the next start recovers from the log. */
  stop(mode: StopMode = "immediate"): void {
    this.#administrator?.close({ timeout: 0 });
    this.#administrator = undefined;
    this.program("pg_ctl", ["stop", "-w", "-t", "60", "-m", mode, "-D", this.dataDir]);
  }

  restart(mode: StopMode = "immediate"): void {
    this.stop(mode);
    this.start();
  }

  get logFile(): string {
    return join(this.dir, "log");
  }

  /** Runs one of PostgreSQL's programs as the server's user; throws with what it printed if it fails. */
  program(name: string, args: readonly string[]): string {
    const command = [...asServerUser(), join(programs ?? "", name), ...args];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: this.dir });
    if (exitCode === 0) return stdout.toString();
    const log = existsSync(this.logFile) ? readFileSync(this.logFile, "utf8").slice(-2_000) : "";
    throw new Error(`${name} failed: ${stdout}${stderr}${log}`);
  }

  [Symbol.dispose](): void {
    if (!existsSync(this.dir)) return;
    if (existsSync(join(this.dataDir, "postmaster.pid"))) this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #initialize({ settings = {}, authentication }: PostgresOptions): void {
    this.#copyPristine();
    const lines = Object.entries({
      listen_addresses: "127.0.0.1",
      port: String(this.port),
      unix_socket_directories: "",
      max_connections: "200",
      shared_buffers: "32MB",
      ...settings,
    }).map(([name, value]) => `${name} = '${value}'`);
    this.writeFile("postgresql.auto.conf", `${lines.join("\n")}\n`);
    if (authentication !== undefined) this.writeFile("pg_hba.conf", `${authentication.join("\n")}\n`);
  }

  /** Making a data folder takes seconds on a busy machine, and copying one a tenth of one. */
  #copyPristine(): void {
    const version = this.program("pg_ctl", ["--version"]).trim();
    // Version 15 and later would write every page of a copied database to the log: a quarter more CPU time.
    if (Number(/\d+/.exec(version)) >= 15) this.#strategy = "STRATEGY FILE_COPY";
    const pristine = join(
      tmpdir(),
      `sluice-${version.replaceAll(/\W+/g, "-")}-${serverUser?.uid ?? process.getuid?.()}`,
    );
    if (!existsSync(pristine)) this.#makePristine(pristine);
    Bun.spawnSync(["cp", "-a", pristine, this.dataDir]);
  }

  /** Creates it in a temporary folder and renames it, so that an existing one is always complete. */
  #makePristine(pristine: string): void {
    const making = mkdtempSync(`${pristine}-`);
    if (serverUser !== null) chownSync(making, serverUser.uid, serverUser.gid);
    const data = join(making, "data");
    const identity = ["-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C"];
    this.program("initdb", ["-D", data, ...identity, "--no-sync", "--no-instructions"]);
    try {
      renameSync(data, pristine);
    } catch (error) {
      // Another process was faster.
      if (!existsSync(pristine)) throw error;
    }
    rmSync(making, { recursive: true, force: true });
  }

  /** Replaces a file of the data folder. */
  writeFile(name: string, text: string): void {
    const script = 'umask 077; cat > "$1"';
    const command = [...asServerUser(), "sh", "-c", script, "sh", join(this.dataDir, name)];
    const { exitCode, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(text) });
    if (exitCode !== 0) throw new Error(`${name} could not be written: ${stderr}`);
  }
}

/** A copy of a database is made in a fifth of the time in memory, where there is enough of it. */
function fastFolder(): string {
  if (!existsSync("/dev/shm")) return tmpdir();
  const { bavail, bsize } = statfsSync("/dev/shm");
  return bavail * bsize > 4 * 2 ** 30 ? "/dev/shm" : tmpdir();
}

let shared: PostgresServer | undefined;

/** What a server with databases of some seconds does without: a twelfth of its CPU time. */
const forShortLived = { autovacuum: "off", wal_init_zero: "off", wal_level: "minimal", max_wal_senders: "0" };

/** The one server that all tests of a process share, each with a database of its own. */
export function sharedPostgres(): PostgresServer {
  shared ??= new PostgresServer({ settings: forShortLived });
  return shared;
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

function findPrograms(): string | null {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian)
    ? [...new Glob("*/bin/pg_ctl").scanSync({ cwd: debian, absolute: true, onlyFiles: true })]
    : [];
  const newest = versions.sort((a, b) => Number(b.split("/")[4]) - Number(a.split("/")[4])).at(0);
  const found = newest ?? Bun.which("pg_ctl");
  return found === null ? null : join(found, "..");
}

function findUser(names: readonly string[]): User | null {
  if (Bun.which("setpriv") === null) return null;
  for (const name of names) {
    const line = readFileSync("/etc/passwd", "utf8").match(new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, "m"));
    if (line !== null) return { uid: Number(line[1]), gid: Number(line[2]) };
  }
  return null;
}

function asServerUser(): readonly string[] {
  if (serverUser === null) return [];
  return ["setpriv", `--reuid=${serverUser.uid}`, `--regid=${serverUser.gid}`, "--clear-groups"];
}

/** Stops a server when the process that uses it is gone, even if it was killed and could not clean up. */
function endWith(pid: number, server: PostgresServer): void {
  process.on("exit", () => server[Symbol.dispose]());
  const stop = [...asServerUser(), join(programs ?? "", "pg_ctl"), "stop", "-m", "immediate", "-D"];
  const guard = `while kill -0 ${pid} && [ -d "$1" ]; do sleep 1; done
    [ -d "$1" ] && ${stop.join(" ")} "$1/data"; rm -rf "$1"`;
  const detached = `nohup sh -c '${guard}' sh "$1" >/dev/null 2>&1 </dev/null &`;
  Bun.spawnSync(["sh", "-c", detached, "sh", server.dir], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}
