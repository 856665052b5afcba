import { isObject } from "../base/json.ts";
import { findConfig } from "../config/source.ts";
import { didYouMean } from "../config/suggest.ts";
import { parseToml } from "../config/toml.ts";
import type { Terminal } from "./terminal/terminal.ts";
import { showWarnings } from "./warnings.ts";

interface Named {
  readonly config?: string | undefined;
  readonly scope?: string | undefined;
  readonly models?: readonly string[] | null | undefined;
}

/**
 * Tells of a scope or a model that the configuration does not name. It is no refusal: the gateway may run
 * with another file than the one that is found here, and a key may be made before its model.
 */
export function warnOfUnknownNames(named: Named, terminal: Terminal): void {
  if (named.scope === undefined && (named.models ?? undefined) === undefined) return;
  const known = namesInConfig(named.config, terminal);
  if (known === null) return;
  const warnings: string[] = [];
  if (named.scope !== undefined && named.scope !== "all" && !known.providers.includes(named.scope)) {
    warnings.push(
      `${known.origin} has no provider "${named.scope}"${didYouMean(named.scope, known.providers)}`,
    );
  }
  for (const model of named.models ?? []) {
    if (known.models.includes(model)) continue;
    warnings.push(`${known.origin} has no model "${model}"${didYouMean(model, known.models)}`);
  }
  showWarnings(warnings, terminal);
}

function namesInConfig(file: string | undefined, { env, cwd }: Terminal) {
  try {
    const source = findConfig({ file, env, cwd });
    const { providers, models } = parseToml(source.text, source.origin);
    return {
      origin: source.origin,
      providers: isObject(providers) ? Object.keys(providers) : [],
      models: Array.isArray(models)
        ? models.flatMap((model) => (isObject(model) && typeof model["id"] === "string" ? [model["id"]] : []))
        : [],
    };
  } catch {
    // A file that cannot be read is `config check`'s to tell; a key can be made without it.
    return null;
  }
}
