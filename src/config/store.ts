import { isObject } from "../base/json.ts";
import { rememberPasswordIn } from "../base/secrets/secrets.ts";
import { defaults } from "./defaults.ts";
import { Places } from "./places.ts";
import { ConfigError, type LoadContext, ProblemList, secretAt, validFields } from "./problems.ts";
import { resolvePath } from "./resolve-path.ts";
import type { ConfigFile } from "./schema.ts";
import { isReference } from "./secrets.ts";
import type { StoreAddress } from "./settings.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

/** The database that `--store`, SLUICE_STORE or the file names, in this order; null if the data is in the folder. */
export function storeSettings(
  config: ConfigFile,
  flag: string | undefined,
  context: LoadContext,
): StoreAddress | null {
  const store = validFields(config.store, "store", context.problems);
  const url = resolveUrl(flag, store.url, context);
  if (url === null) return null;
  const { prepare = defaults.storePrepare } = store;
  return { url, password: resolvePassword(store.password, url, context), prepare };
}

export interface LocateStoreOptions extends SourceOptions {
  readonly store?: string | undefined;
}

/**
 * Reads `[store]` for commands that need nothing else of the configuration. Only this section is checked, so that they work even
 * if a provider in the file is wrong.
 */
export function locateStore(options: LocateStoreOptions): StoreAddress | null {
  const source = findConfig(options);
  const document = parseToml(source.text, source.origin);
  const { store } = document;
  const places = new Places(source.text, document);
  const problems = new ProblemList(places);
  const context = { env: options.env, folder: source.folder, problems, places, warnings: [] };
  const located = storeSettings(isObject(store) ? { store: textsOf(store) } : {}, options.store, context);
  if (problems.all.length > 0) throw new ConfigError(source.origin, problems.all);
  return located;
}

function textsOf(store: Readonly<Record<string, unknown>>): NonNullable<ConfigFile["store"]> {
  const { url, password, prepare } = store;
  return {
    ...(typeof url === "string" ? { url } : {}),
    ...(typeof password === "string" ? { password } : {}),
    ...(typeof prepare === "boolean" ? { prepare } : {}),
  };
}

/** SLUICE_STORE may hold a password, since it is an environment variable itself. */
function resolveUrl(
  flag: string | undefined,
  configured: string | undefined,
  context: LoadContext,
): string | null {
  const fromEnvironment = context.env["SLUICE_STORE"]?.trim() || undefined;
  if (flag !== undefined) return urlFrom(flag, "--store", context);
  if (fromEnvironment !== undefined && !isReference(fromEnvironment)) {
    return checkedUrl(fromEnvironment, "SLUICE_STORE", context);
  }
  if (fromEnvironment !== undefined) return urlFrom(fromEnvironment, "SLUICE_STORE", context);
  return configured === undefined ? null : urlFrom(configured, "store.url", context);
}

/** An unset reference is an error: otherwise the gateway would serve an empty data folder. */
function urlFrom(text: string, path: string, context: LoadContext): string | null {
  if (isReference(text)) {
    const url = secretAt(path, text, context);
    return url === null ? null : checkedUrl(url, path, context);
  }
  if (passwordOf(text) === "") return checkedUrl(text, path, context);
  context.problems.add(
    path,
    'has a password, which is not allowed here; use "env:NAME" or "file:/path", or move it to store.password',
  );
  return null;
}

function checkedUrl(url: string, path: string, { problems }: LoadContext): string | null {
  const problem = problemOf(url);
  if (problem !== null) {
    problems.add(path, problem);
    return null;
  }
  rememberPasswordIn(url);
  return url;
}

/** Never repeats the URL, which may hold a password. */
function problemOf(url: string): string | null {
  if (!/^postgres(?:ql)?:\/\//i.test(url) || !URL.canParse(url)) {
    return "must be of the form postgres://user@host:5432/database, with one host";
  }
  try {
    decodeURIComponent(url);
    return null;
  } catch {
    return "has a % that does not begin an encoded character; use %25 for a literal %";
  }
}

function resolvePassword(
  reference: string | undefined,
  url: string,
  context: LoadContext,
): StoreAddress["password"] {
  if (reference === undefined) return null;
  if (passwordOf(url) !== "") {
    context.problems.add("store.password", "both store.url and store.password have a password; remove one");
    return null;
  }
  const atStart = secretAt("store.password", reference, context);
  if (atStart === null || !reference.startsWith("file:")) return atStart;
  return { file: resolvePath(context.folder, reference.slice("file:".length), context.env), atStart };
}

/** Stays encoded if the URL is malformed: then only its presence matters. */
function passwordOf(url: string): string {
  const encoded = URL.parse(url)?.password ?? "";
  return problemOf(url) === null ? decodeURIComponent(encoded) : encoded;
}
