import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { rememberSecret } from "../base/secrets.ts";
import type { Environment } from "./source.ts";

/**
 * The result of resolving a reference to a secret. `unset` is not an error: a provider without its key is left out with a
 * warning, so that machines with different keys can share a file. Messages never repeat what the file has in place
 * of a reference, because that may be the secret.
 */
export type Secret =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "unset"; readonly reason: string }
  | { readonly kind: "problem"; readonly message: string };

export interface SecretSources {
  readonly env: Environment;
  /** Relative `file:` paths start here. */
  readonly folder: string;
}

export function isReference(text: string): boolean {
  return text.startsWith("env:") || text.startsWith("file:");
}

export function readSecret(reference: string, sources: SecretSources): Secret {
  if (reference.startsWith("env:")) return fromEnvironment(reference.slice("env:".length), sources.env);
  if (reference.startsWith("file:")) return fromFile(reference.slice("file:".length), sources.folder);
  return {
    kind: "problem",
    message:
      'a secret must not stand in this file; put it into the environment and write "env:NAME", ' +
      'or into a file and write "file:/path"',
  };
}

function fromEnvironment(name: string, env: Environment): Secret {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { kind: "problem", message: 'after "env:" comes the name of an environment variable' };
  }
  const value = env[name]?.trim() ?? "";
  if (value === "") return { kind: "unset", reason: `${name} is not set` };
  return checked(value, `the environment variable ${name}`);
}

function fromFile(path: string, folder: string): Secret {
  if (path === "") return { kind: "problem", message: 'after "file:" comes the path of a file' };
  const file = resolve(folder, path);
  try {
    const value = readFileSync(file, "utf8").trim();
    if (value === "") return { kind: "unset", reason: `${file} is empty` };
    return checked(value, file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return { kind: "unset", reason: `${file} does not exist` };
    return { kind: "problem", message: `${file} cannot be read (${code ?? "unknown error"})` };
  }
}

/** Secrets are sent in headers, which must not contain line breaks or other control characters. */
function checked(value: string, where: string): Secret {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
  if (/[\u0000-\u001f\u007f]/.test(value)) {
    return { kind: "problem", message: `${where} holds more than one line or a control character` };
  }
  rememberSecret(value);
  return { kind: "value", value };
}
