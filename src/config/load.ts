import type { JsonObject } from "../base/json.ts";
import { checkModels } from "./check-models.ts";
import { checkShape } from "./check-shape.ts";
import type { LoadContext } from "./context.ts";
import { warnOfLimits } from "./exchange-limits.ts";
import { resolveHeaders } from "./headers.ts";
import { checkListeners } from "./listeners.ts";
import { buildModels } from "./models.ts";
import { ConfigError, ProblemList } from "./problems.ts";
import { loadProviders, type Providers } from "./providers.ts";
import type { ConfigFile } from "./schema.ts";
import {
  adminSettings,
  type Flags,
  logSettings,
  microUsdPerCredit,
  retentionSettings,
  serverSettings,
} from "./server.ts";
import type { ModelSettings, Settings } from "./settings.ts";
import { type ConfigSource, findConfig, type SourceOptions } from "./source.ts";
import { storeSettings } from "./store.ts";
import { parseToml } from "./toml.ts";

export interface LoadOptions extends SourceOptions {
  readonly flags?: Flags | undefined;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly source: ConfigSource;
}

/**
 * Finds, reads and checks the configuration. Throws a ConfigError that lists every problem at once: what the schema
 * rejects, and what the cross-checks find in the parts that the schema accepts.
 */
export function loadSettings(options: LoadOptions): LoadedSettings {
  const source = findConfig(options);
  const document = parseToml(source.text, source.origin);
  return { settings: settingsFrom(document, source, options), source };
}

function settingsFrom(document: JsonObject, source: ConfigSource, options: LoadOptions): Settings {
  const problems = new ProblemList();
  checkShape(document, problems);
  const config = document as ConfigFile;
  const context: LoadContext = { env: options.env, folder: source.folder, problems, warnings: [] };
  const providers = loadProviders(config, context);
  checkModels(config, providers, context);
  const settings = {
    server: serverSettings(config, options.flags ?? {}, options.cwd ?? process.cwd(), context),
    store: storeSettings(config, options.flags?.store, context),
    log: logSettings(config, context),
    microUsdPerCredit: microUsdPerCredit(config, context),
    retention: retentionSettings(config, context),
    admin: adminSettings(config, context),
    tracing: tracingSettings(config, context),
    providers: providers.usable,
  };
  checkListeners(settings.server, settings.admin, problems);
  if (problems.all.length > 0) throw new ConfigError(source.origin, problems.all);
  const models = buildModels(config, providers, settings.server, context);
  const warnings = [
    ...leftOutWarnings(config, providers, models),
    ...context.warnings,
    ...warnOfLimits(config, models),
  ];
  return { ...settings, models, named: namesOf(config), isDemo: isDemo(config), warnings };
}

function namesOf({ providers = {}, models = [] }: ConfigFile): Settings["named"] {
  return {
    providers: Object.keys(providers),
    models: models.flatMap(({ id, aliases = [] }) => [id, ...aliases]),
  };
}

function isDemo({ providers = {} }: ConfigFile): boolean {
  const all = Object.values(providers);
  return all.length > 0 && all.every(({ kind }) => kind === "demo");
}

function tracingSettings(config: ConfigFile, context: LoadContext): Settings["tracing"] {
  if (config.tracing === undefined || !context.problems.isValidAt("tracing")) return null;
  const { headers, unset } = resolveHeaders(config.tracing.headers, "tracing.headers", context);
  if (unset === null) return { otlpEndpoint: config.tracing.otlp_endpoint, headers };
  context.warnings.push(`tracing is off: ${unset}`);
  return null;
}

/** For each provider left out, names the models that clients will miss. */
function leftOutWarnings(
  config: ConfigFile,
  providers: Providers,
  served: readonly ModelSettings[],
): string[] {
  const servedIds = new Set(served.map((model) => model.id));
  const warnings = [...providers.leftOut].map(([name, reason]) => {
    const lost = (config.models ?? [])
      .filter((model) => !servedIds.has(model.id))
      .filter((model) => model.provider === name || model.deployments?.some((each) => each.provider === name))
      .map((model) => model.id);
    const models = lost.length === 0 ? "" : `; not listed: ${lost.join(", ")}`;
    return `provider "${name}" is left out: ${reason}${models}`;
  });
  if (served.length === 0) {
    const remedy = (config.models ?? []).length === 0 ? "; add [[models]] to the configuration" : "";
    warnings.push(`there is no model to serve${remedy}`);
  }
  return warnings;
}
