import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { whyUnreadable } from "../base/files/problem.ts";
import { rememberDocument } from "../base/secrets/remember-document.ts";
import { rememberSecret } from "../base/secrets/secrets.ts";
import type { Environment } from "../base/system/environment.ts";
import { systemCode } from "../base/system/system-code.ts";
import { resolvePath } from "./resolve-path.ts";

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
  /** Collects why each secret that is not set is missing, for a check that must not pass without them. */
  readonly unset?: Set<string>;
  /** Collects a digest of each secret that was read from a file, by file. */
  readonly files?: Map<string, string>;
}

export function isReference(text: string): boolean {
  return text.startsWith("env:") || text.startsWith("file:");
}

/** A secret of one line, such as an API key. */
export function readSecret(reference: string, sources: SecretSources): Secret {
  return noted(resolveReference(reference, sources, checkedLine), sources);
}

/** A secret of several lines: the JSON key file of a cloud. */
export function readSecretDocument(reference: string, sources: SecretSources): Secret {
  return noted(resolveReference(reference, sources, rememberedDocument), sources);
}

function noted(secret: Secret, { unset }: SecretSources): Secret {
  if (secret.kind === "unset") unset?.add(secret.reason);
  return secret;
}

type Accept = (value: string, where: string) => Secret;

function resolveReference(reference: string, sources: SecretSources, accept: Accept): Secret {
  if (reference.startsWith("env:"))
    return fromEnvironment(reference.slice("env:".length), sources.env, accept);
  if (reference.startsWith("file:")) return fromFile(reference.slice("file:".length), sources, accept);
  return {
    kind: "problem",
    message:
      'secrets are not allowed in this file; put it into the environment and use "env:NAME", ' +
      'or into a file and use "file:/path"',
  };
}

function fromEnvironment(name: string, env: Environment, accept: Accept): Secret {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { kind: "problem", message: '"env:" needs the name of an environment variable' };
  }
  const value = env[name]?.trim() ?? "";
  if (value === "") return { kind: "unset", reason: `${name} is not set` };
  return accept(value, `the environment variable ${name}`);
}

/** Digests are only compared within the process, so this key keeps them meaningless elsewhere. */
const digestKey = randomBytes(32);

function digestOf(secret: string): string {
  return createHmac("sha256", digestKey).update(secret).digest("base64");
}

function fromFile(path: string, { env, folder, files }: SecretSources, accept: Accept): Secret {
  if (path === "") return { kind: "problem", message: '"file:" needs a path' };
  const file = resolvePath(folder, path, env);
  try {
    const value = readFileSync(file, "utf8").trim();
    if (value === "") return { kind: "unset", reason: `${file} is empty` };
    files?.set(file, digestOf(value));
    return accept(value, file);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { kind: "unset", reason: `${file} does not exist` };
    return { kind: "problem", message: `${file} cannot be read: ${whyUnreadable(error)}` };
  }
}

/** Secrets are sent in headers, which must not contain line breaks or other control characters. */
function checkedLine(value: string, where: string): Secret {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
  if (/[\u0000-\u001f\u007f]/.test(value)) {
    return { kind: "problem", message: `${where} has more than one line or a control character` };
  }
  rememberSecret(value);
  return { kind: "value", value };
}

function rememberedDocument(value: string): Secret {
  rememberDocument(value);
  return { kind: "value", value };
}
