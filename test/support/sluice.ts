import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimeSettings } from "../../src/cli/serve/runtime-settings.ts";
import type { KeyMode } from "../../src/store/store.ts";
import { type Place, sluice, sluiceJson } from "../cli/fixtures.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { upstreamKeys } from "./config.ts";
import { newFolder } from "./new-folder.ts";
import { type CliResult, run, type ServerProcess, serve, type Where } from "./process.ts";
import { waitFor } from "./wait.ts";

export interface StartOptions {
  /** TOML; without it the built-in default config is used, with its demo provider. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** More arguments of `serve`. */
  readonly args?: readonly string[];
  /** Puts something into the data folder before the start. */
  readonly fill?: (dataDir: string) => Promise<void>;
}

export interface KeyOptions {
  /** `credit` unless told. */
  readonly mode?: KeyMode;
  readonly label?: string;
  /** Credits of a credit key; 10 unless told. */
  readonly credit?: number;
  /** Tokens of a token-budget key; a million unless told. */
  readonly budget?: number;
  readonly period?: "day" | "week" | "month" | "none";
  readonly rpm?: number;
  readonly tpm?: number;
  readonly "max-concurrent"?: number;
  readonly provider?: string;
  readonly models?: readonly string[];
  readonly expires?: string;
}

export interface TestKey {
  readonly id: string;
  /** The secret. */
  readonly key: string;
  readonly prefix: string;
  readonly mode: KeyMode;
  readonly status: string;
}

export interface RequestOptions {
  /** Sent as a bearer; its mode's origin is put before the path unless `origin` says another. */
  readonly key?: TestKey;
  readonly origin?: "" | "/token";
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; text and bytes are sent as they are. With a body the method is POST. */
  readonly body?: unknown;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

/** The real program, as a process of its own on a data folder of its own. */
export class Sluice {
  readonly folder: string;
  readonly #where: Where;
  readonly #args: readonly string[];
  #server: ServerProcess;

  private constructor(folder: string, where: Where, args: readonly string[], server: ServerProcess) {
    this.folder = folder;
    this.#where = where;
    this.#args = args;
    this.#server = server;
  }

  static async start({ config, env = {}, args = [], fill }: StartOptions = {}): Promise<Sluice> {
    const folder = newFolder();
    if (config !== undefined) writeFileSync(configFile(folder), config);
    if (fill === undefined) putEmptyLedger(join(folder, "data"));
    else await fill(join(folder, "data"));
    const where = { cwd: folder, env: { ...environment(folder, config !== undefined), ...env } };
    return new Sluice(folder, where, args, await serve(args, where));
  }

  /** `http://127.0.0.1:1234`; another one after a restart. */
  get url(): string {
    return this.#server.url;
  }

  get pid(): number {
    return this.#server.pid;
  }

  /** Everything that the running server has written, both outputs in the order in which they came. */
  get output(): string {
    return this.#server.output();
  }

  /** Waits until the server has written this. What it writes comes through a pipe, later than what it answers. */
  told(text: string): Promise<void> {
    return waitFor(() => this.output.includes(text), `the server to write ${JSON.stringify(text)}`);
  }

  /** Runs a command in its own process while the server runs, on the same data. */
  run(...args: readonly string[]): Promise<CliResult> {
    return run(args, this.#where);
  }

  /** The same in this process, which takes a tenth of the time: enough where the command itself is not what is tested. */
  cli(...args: string[]): Promise<CliResult> {
    return sluice(this.#place, ...args);
  }

  /** Runs a command that must succeed, in this process, and gives what `--json` prints. */
  cliJson<Shape>(...args: string[]): Promise<Shape> {
    return sluiceJson(this.#place, ...args);
  }

  createKey(options: KeyOptions = {}): Promise<TestKey> {
    return this.cliJson("keys", "create", ...keyFlags(options));
  }

  get #place(): Place {
    return { folder: this.folder, env: { ...this.#where.env } };
  }

  request(path: string, options: RequestOptions = {}): Promise<Response> {
    const { key, body, signal } = options;
    const origin = options.origin ?? (key?.mode === "token_budget" ? "/token" : "");
    const raw = typeof body === "string" || body instanceof Uint8Array;
    const headers: Record<string, string> = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key.key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    };
    return fetch(this.url + origin + path, {
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      headers,
      redirect: "manual",
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** SIGTERM; waits for the end and gives the exit code. */
  stop(): Promise<number> {
    this.#server.signal("SIGTERM");
    return this.#server.exited;
  }

  /** The exit code, once the server has ended. */
  get exited(): Promise<number> {
    return this.#server.exited;
  }

  kill9(): Promise<number> {
    this.#server.signal("SIGKILL");
    return this.#server.exited;
  }

  /** Starts again on the same data, after `stop` or `kill9`. */
  async restart({ config, env }: Pick<StartOptions, "config" | "env"> = {}): Promise<void> {
    if (config !== undefined) writeFileSync(configFile(this.folder), config);
    this.#server = await serve(this.#args, { ...this.#where, env: { ...this.#where.env, ...env } });
  }

  /** Puts a new config in place and sends SIGHUP; waits for the line that is the last of a reload, whether it was taken or rejected. */
  async reload(config: string): Promise<void> {
    writeFileSync(configFile(this.folder), config);
    const before = this.output.length;
    this.#server.signal("SIGHUP");
    const ended = /the (new configuration is|old configuration keeps) running/;
    await waitFor(() => ended.test(this.output.slice(before)), "the reload to end");
  }

  /** For `afterAll`, and for `await using`. */
  async dispose(): Promise<void> {
    await this.kill9();
    rmSync(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

export const startSluice = Sluice.start;

function configFile(folder: string): string {
  return join(folder, "sluice.toml");
}

/** Only what is listed here: a proxy or a provider's key in the developer's shell must not reach a test. */
function environment(folder: string, hasConfig: boolean): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    TMPDIR: tmpdir(),
    // With them, `serve` need not start again to have them.
    ...runtimeSettings,
    SLUICE_DATA: join(folder, "data"),
    ...upstreamKeys,
    ...(hasConfig ? { SLUICE_CONFIG: configFile(folder) } : {}),
  };
}

function keyFlags(options: KeyOptions): string[] {
  const { mode = "credit", models, ...rest } = options;
  const balance = mode === "credit" ? { credit: 10 } : { budget: 1_000_000 };
  const flags = { mode, ...balance, ...rest, ...(models === undefined ? {} : { models: models.join(",") }) };
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
