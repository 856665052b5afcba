import { atOnce, type Stepwise } from "../base/loop/in-turns.ts";
import { adminSettings } from "./admin.ts";
import { type ExpandedConfig, expandCatalogs } from "./catalog/expand.ts";
import type { StoredPrices } from "./catalog/stored-prices.ts";
import { checkModels } from "./check-models.ts";
import { checkShape } from "./check-shape.ts";
import { decode } from "./decode.ts";
import { rememberEnvironment } from "./environment/remember-secrets.ts";
import { resolveHeaders } from "./headers.ts";
import { lintConversations, lintLimits, lintOptions, lintPrices } from "./lint.ts";
import { lintSignIn } from "./lint-sign-in.ts";
import { checkListeners } from "./listeners.ts";
import { buildModels } from "./models.ts";
import { Places } from "./places.ts";
import { ConfigError, type ConfigProblem, type LoadContext, ProblemList } from "./problems.ts";
import { loadProviders, type Providers } from "./providers.ts";
import { type ConfigFile, configSchema, type ModelConfig } from "./schema.ts";
import {
  type Flags,
  logSettings,
  microUsdPerCredit,
  routeSettings,
  serverSettings,
  webSocketSettings,
} from "./server.ts";
import type { ModelSettings, Settings } from "./settings.ts";
import { type ConfigSource, findConfig, type SourceOptions, sourceDigest } from "./source.ts";
import { storeSettings } from "./store.ts";
import { parseToml } from "./toml.ts";
import { UnpricedModels } from "./unpriced-models.ts";
import { writtenWithoutSecrets } from "./written.ts";

const { properties: sections } = configSchema;

export interface LoadOptions extends SourceOptions {
  readonly flags?: Flags | undefined;
  /** Prices above the built-in catalog. */
  readonly prices?: StoredPrices | null | undefined;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly source: ConfigSource;
}

/** The problems of a configuration, and the settings without the faulty parts. */
export interface ExaminedSettings extends LoadedSettings {
  readonly problems: readonly ConfigProblem[];
  /** The models without a problem, unchanged. */
  readonly models: readonly ModelConfig[];
  readonly places: Places;
  /** Why each secret that the file refers to, and that is not set here, is missing. */
  readonly missingSecrets: readonly string[];
}

/** Finds, reads and checks the configuration. Throws a ConfigError that lists every problem at once. */
export function loadSettings(options: LoadOptions): LoadedSettings {
  return atOnce(loadingSettings(options));
}

/** Loads the settings in steps, for a gateway that serves meanwhile. */
export function* loadingSettings(options: LoadOptions): Stepwise<LoadedSettings> {
  const { settings, source, problems } = yield* examiningSettings(options);
  if (problems.length > 0) throw new ConfigError(source.origin, problems);
  return { settings, source };
}

/**
 * Reports every problem at once: what the schema rejects, and what the cross-checks find in the parts that it accepts. The
 * settings and their warnings cover only the accepted parts. Throws only if the file cannot be read or is not TOML.
 */
export function examineSettings(options: LoadOptions): ExaminedSettings {
  return atOnce(examiningSettings(options));
}

/** Examines the settings in steps. The first one reads the file and the environment. */
export function* examiningSettings(options: LoadOptions): Stepwise<ExaminedSettings> {
  rememberEnvironment(options.env);
  const source = findConfig(options);
  const document = parseToml(source.text, source.origin);
  yield;
  const expanded = expandCatalogs(document, options.prices);
  const places = new Places(source.text, expanded.document);
  const problems = new ProblemList(places);
  // The tests have checked the built-in catalog. With hundreds of models, doing it again was half of the time of a start.
  const isShipped = options.prices == null;
  checkShape(isShipped ? document : expanded.document, problems);
  yield;
  for (const { path, message } of expanded.problems) problems.add(path, message);
  const unset = new Set<string>();
  const { folder } = source;
  const warnings = [...expanded.warnings];
  const secretFiles = new Map<string, string>();
  const context: LoadContext = {
    env: options.env,
    folder,
    unset,
    files: secretFiles,
    problems,
    places,
    warnings,
  };
  const config = expanded.document as ConfigFile;
  const settings = {
    ...(yield* settingsFrom(config, expanded, options, context)),
    source: sourceDigest(source),
    storedPrices: options.prices?.version ?? null,
    secretFiles,
    written: writtenWithoutSecrets(document),
  };
  const models = soundModels(config, problems);
  return { settings, source, problems: problems.all, models, places, missingSecrets: [...unset] };
}

function* settingsFrom(
  config: ConfigFile,
  { catalogIds, rules }: ExpandedConfig,
  options: LoadOptions,
  context: LoadContext,
): Stepwise<Omit<Settings, "source" | "storedPrices" | "secretFiles" | "written">> {
  const { problems } = context;
  const providers = loadProviders(config, context);
  const checked = options.prices == null ? ownModels(config, catalogIds) : (config.models ?? []);
  checkModels(checked, config, providers, context);
  yield;
  const server = serverSettings(config, options.flags ?? {}, options.cwd ?? process.cwd(), context);
  const store = storeSettings(config, options.flags?.store, context);
  const log = logSettings(config, context);
  const money = decode(sections.money, config.money, "money", context);
  const settings = {
    server,
    store,
    log,
    money,
    microUsdPerCredit: microUsdPerCredit(money, context),
    retention: decode(sections.retention, config.retention, "retention", context),
    responses: decode(sections.responses, config.responses, "responses", context),
    batches: decode(sections.batches, config.batches, "batches", context),
    ...contentSettings(config, context),
    websocket: webSocketSettings(config, server, context),
    routes: routeSettings(config, context),
    admin: adminSettings(config, context),
    tracing: tracingSettings(config, context),
    alerts: alertSettings(config, context),
    feed: feedSettings(config, context),
    providers: providers.usable,
  };
  checkListeners(settings.server, settings.admin, problems);
  const sound = { ...config, models: soundModels(config, problems) };
  const own = { ...sound, models: ownModels(sound, catalogIds) };
  const models = yield* buildModels(sound, catalogIds, { providers, server: settings.server, context });
  yield;
  const warnings = [
    ...skippedWarnings(sound, providers, models),
    ...(models.length === 0 && problems.all.length === 0 ? [noModel(sound)] : []),
    ...context.warnings,
    ...lintOptions(own, context),
    ...lintPrices(own, context.places),
    ...lintLimits(sound, models, context.places),
    ...lintConversations(settings, context.places),
    ...lintSignIn(config, { admin: settings.admin, models: namesOf(sound).models }, context),
  ];
  yield;
  const skippedModels = findSkippedModels(sound, providers, models);
  return {
    ...settings,
    models,
    catalogRules: rules,
    unpricedModels: new UnpricedModels(sound, rules, { providers, server: settings.server, context }),
    skippedModels,
    named: namesOf(sound),
    isDemo: isDemo(config),
    warnings,
  };
}

function ownModels({ models }: ConfigFile, catalogIds: ReadonlySet<string>): ModelConfig[] {
  return Array.isArray(models) ? models.filter((model) => !catalogIds.has(model?.id)) : [];
}

function soundModels({ models }: ConfigFile, problems: ProblemList): ModelConfig[] {
  if (!Array.isArray(models)) return [];
  return models.filter((_, index) => problems.isValidAt(`models[${index}]`));
}

function namesOf({ providers = {}, models = [] }: ConfigFile): Settings["named"] {
  return {
    providers: Object.keys(providers),
    models: models.flatMap(({ id, aliases = [] }) => [id, ...aliases]),
  };
}

function isDemo({ providers = {} }: ConfigFile): boolean {
  const all = Object.values(providers);
  return all.length > 0 && all.every((provider) => provider?.kind === "demo");
}

/** Without the section nothing is recorded. Traces that include content then use the default limits. */
function contentSettings(config: ConfigFile, context: LoadContext): Pick<Settings, "content" | "bodyLimits"> {
  const content = decode(sections.content, config.content, "content", context);
  const { maxRequestBytes, maxResponseBytes } = content;
  const bodyLimits = { maxRequestBytes, maxResponseBytes };
  return { content: config.content === undefined ? null : content, bodyLimits };
}

function tracingSettings({ tracing: configured }: ConfigFile, context: LoadContext): Settings["tracing"] {
  if (configured === undefined || !context.problems.isValidAt("tracing")) return null;
  const tracing = decode(sections.tracing, configured, "tracing", context);
  const { headers, unset } = resolveHeaders(configured.headers, "tracing.headers", context);
  if (unset === null) return { ...tracing, headers };
  context.warnings.push(`tracing is off: ${unset}`);
  return null;
}

function alertSettings({ alerts: configured }: ConfigFile, context: LoadContext): Settings["alerts"] {
  if (configured === undefined || !context.problems.isValidAt("alerts")) return null;
  const { url, secret } = decode(sections.alerts, configured, "alerts", context);
  return receiver("alerts", { url, secret }, configured.secret !== undefined, context);
}

function feedSettings({ feed: configured }: ConfigFile, context: LoadContext): Settings["feed"] {
  if (configured === undefined || !context.problems.isValidAt("feed")) return null;
  const { url, secret, since } = decode(sections.feed, configured, "feed", context);
  const found = receiver("feed", { url, secret }, configured.secret !== undefined, context);
  const sinceMs =
    since === null ? null : Date.parse(since.includes("T") ? `${since.replace("Z", "")}Z` : since);
  if (sinceMs === null || isDayOf(since ?? "", sinceMs)) return found && { ...found, sinceMs };
  context.problems.add("feed.since", "must be a day that exists, such as 2026-10-31");
  return null;
}

/** False for February 30, which is parsed as March 2. */
function isDayOf(text: string, ms: number): boolean {
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10));
}

interface Receiver {
  readonly url: string | null;
  readonly secret: string | null;
}

/** Null, with a warning, if the address or the secret is not set: without the secret posts would go out unsigned. */
function receiver(
  section: "alerts" | "feed",
  { url, secret }: Receiver,
  isSigned: boolean,
  { problems }: LoadContext,
): { url: string; secret: string | null } | null {
  if (url === null || (secret === null && isSigned)) return null;
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return { url, secret };
  problems.add(`${section}.url`, "must be an address that begins with http:// or https://");
  return null;
}

/** A provider with `models = "catalog"` has more than a hundred. */
const maxNamed = 5;

/** For each skipped provider, names the models that clients will miss. */
function skippedWarnings(
  config: ConfigFile,
  providers: Providers,
  served: readonly ModelSettings[],
): string[] {
  const notServed = unserved(config, served);
  return [...providers.skipped].map(([name, reason]) => {
    const lost = notServed.filter((model) => providersOf(model).includes(name)).map(({ id }) => id);
    const more = lost.length > maxNamed ? ` and ${lost.length - maxNamed} more` : "";
    const models = lost.length === 0 ? "" : `; not listed: ${lost.slice(0, maxNamed).join(", ")}${more}`;
    return `provider "${name}" is skipped: ${reason}${models}`;
  });
}

/** The other way round: each model with what its providers lack. */
function findSkippedModels(
  config: ConfigFile,
  { skipped }: Providers,
  served: readonly ModelSettings[],
): Settings["skippedModels"] {
  return unserved(config, served).map((model) => {
    const reasons = providersOf(model).flatMap((name) => skipped.get(name) ?? []);
    return { model: model.id, reason: [...new Set(reasons)].join("; ") };
  });
}

function unserved({ models = [] }: ConfigFile, served: readonly ModelSettings[]): ModelConfig[] {
  const servedIds = new Set(served.map(({ id }) => id));
  return models.filter(({ id }) => !servedIds.has(id));
}

function providersOf({ provider, deployments = [] }: ModelConfig): string[] {
  return [provider, ...deployments.map((each) => each.provider)].flatMap((name) => name ?? []);
}

function noModel({ models = [] }: ConfigFile): string {
  return `no model to serve${models.length === 0 ? "; add [[models]] to the configuration" : ""}`;
}
