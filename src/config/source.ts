import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import defaultConfigText from "../../config/sluice.toml" with { type: "text" };
import { whyForeign } from "../base/files/foreign.ts";
import { whyUnreadable } from "../base/files/problem.ts";
import type { Environment } from "../base/system/environment.ts";
import { systemCode } from "../base/system/system-code.ts";
import { configFileName, defaults } from "./defaults.ts";
import type { RequestedProvider } from "./environment/requested.ts";
import { environmentToml } from "./environment/toml.ts";
import { type EnvironmentVendors, vendorsInEnvironment } from "./environment/vendors.ts";
import { ConfigError } from "./problems.ts";
import { resolvePath } from "./resolve-path.ts";
import type { Settings } from "./settings.ts";

export interface ConfigSource {
  /** Absolute; null for the built-in configuration. */
  readonly file: string | null;
  /** For display. */
  readonly origin: string;
  readonly text: string;
  /** Relative paths in the text start here. */
  readonly folder: string;
  /** Vendors that the environment adds to the built-in configuration; null for a file. */
  readonly environment: EnvironmentVendors | null;
}

/** Needs no keys at all. `sluice config init` writes the same text. */
export const builtInConfig: string = defaultConfigText;

export interface SourceOptions {
  /** From `--config`. It must exist, unlike `./sluice.toml`. */
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly cwd?: string | undefined;
  /** The configuration itself, in place of a file. */
  readonly text?: string | undefined;
  /** Providers requested on the command line. They require a start without a file. */
  readonly requested?: readonly RequestedProvider[] | undefined;
  /** Leaves out vendors whose keys are in the environment. */
  readonly demoOnly?: boolean | undefined;
  /** Address options of the command line. */
  readonly flags?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined;
  /** Another path for a test. */
  readonly systemFile?: string | undefined;
}

/** Where the packages and `install.sh --systemd` put the service's configuration. */
const systemConfigFile = "/etc/sluice/sluice.toml";

/** `--config`, else SLUICE_CONFIG, else `./sluice.toml` or `/etc/sluice/sluice.toml` if one exists, else the built-in configuration with the vendors of the environment. */
export function findConfig(options: SourceOptions): ConfigSource {
  const cwd = options.cwd ?? process.cwd();
  if (options.text !== undefined) return { ...builtIn(cwd), text: options.text, environment: null };
  const file = findFile(options, cwd);
  const { requested = [] } = options;
  if (file !== null) {
    rejectRequested(requested, file);
    return readConfig(file);
  }
  const found = options.demoOnly ? noVendors : vendorsInEnvironment(options.env, listenAddress(options));
  // The first of two providers with the same model serves it, so the command line comes before the environment.
  const parts = [builtInConfig, ...requested.map(({ toml }) => toml), environmentToml(found.served)];
  const text = parts.filter((part) => part !== "").join("\n");
  return { ...builtIn(cwd), text, environment: { ...found, served: [...requested, ...found.served] } };
}

function builtIn(folder: string) {
  return { file: null, origin: "the built-in configuration", folder };
}

function findFile(options: SourceOptions, cwd: string): string | null {
  const named = options.file ?? (options.env["SLUICE_CONFIG"] || undefined);
  if (named !== undefined) return resolvePath(cwd, named, options.env);
  const own = resolve(cwd, configFileName);
  if (existsSync(own)) {
    rejectForeign(own);
    return own;
  }
  // Only root can have put a file there, even if another user owns it.
  const ofSystem = options.systemFile ?? systemConfigFile;
  return existsSync(ofSystem) ? ofSystem : null;
}

/** A file in the working folder may be another user's: it decides where prompts and keys are sent. */
function rejectForeign(file: string): void {
  const why = whyForeign(file);
  if (why === null) return;
  const message = `the file ${why}, so it is not used; if you trust it, pass it with --config`;
  throw new ConfigError(file, [{ path: "", message }]);
}

function rejectRequested([first]: readonly RequestedProvider[], file: string): void {
  if (first === undefined) return;
  const message = `${first.variable} applies only without a configuration file; add [providers.${first.provider}] to this one instead`;
  throw new ConfigError(file, [{ path: "", message }]);
}

const noVendors: EnvironmentVendors = { served: [], skipped: [] };

/** A port that is not a number is reported when the settings are loaded. */
function listenAddress({ env, flags = {} }: SourceOptions) {
  const port = flags.port ?? Number(env["SLUICE_PORT"] || defaults.port);
  return { host: flags.host ?? (env["SLUICE_HOST"] || defaults.host), port };
}

/** Null for the built-in configuration. */
export function sourceDigest({ file, text }: ConfigSource): Settings["source"] {
  return file === null ? null : { file, digest: digestOf(text) };
}

/** A file that is gone or cannot be read does not count as changed; a reload would report it. */
export function hasChangedOnDisk({ file, digest }: NonNullable<Settings["source"]>): boolean {
  try {
    return digestOf(readFileSync(file, "utf8")) !== digest;
  } catch {
    return false;
  }
}

/** The digest is visible to everyone who can check the configuration, and a weak secret could be guessed from a plain hash of its file. */
const digestKey = crypto.getRandomValues(new Uint8Array(32));

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256", digestKey).update(text).digest("hex");
}

function readConfig(file: string): ConfigSource {
  try {
    return { file, origin: file, text: readFileSync(file, "utf8"), folder: dirname(file), environment: null };
  } catch (error) {
    const message =
      systemCode(error) === "ENOENT"
        ? "this file does not exist; create one with `sluice config init`"
        : `it cannot be read: ${whyUnreadable(error)}`;
    throw new ConfigError(file, [{ path: "", message }]);
  }
}
