import { msPerDay, systemClock } from "../base/clock.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { atOnce, type Stepwise } from "../base/loop/in-turns.ts";
import { shippedCatalog } from "../config/catalog/shipped.ts";
import { catalogAt } from "../config/catalog/vendors.ts";
import { configFileName } from "../config/defaults.ts";
import { type ExaminedSettings, examiningSettings, type LoadOptions } from "../config/load.ts";
import type { CheckedConfig } from "../config/on-disk.ts";
import { ConfigError, type ConfigProblem, ProblemList } from "../config/problems.ts";
import type { ModelConfig, ProviderConfig } from "../config/schema.ts";
import { lintPrices } from "./price-lint.ts";

/** Everything that is wrong with a configuration, and what looks wrong. */
export function checkConfig(options: LoadOptions): CheckedConfig {
  return atOnce(checkingConfig(options));
}

/** Checks a configuration in steps, for a gateway that serves meanwhile. */
export function* checkingConfig(options: LoadOptions): Stepwise<CheckedConfig> {
  try {
    const examined = yield* examiningSettings(options);
    yield;
    const { settings, source } = examined;
    const prices = lintedPrices(examined);
    const problems = [...examined.problems, ...nothingToServe(examined), ...prices.problems];
    const warnings = [...settings.warnings, ...prices.warnings, ...endingModels(examined)];
    const { missingSecrets } = examined;
    return { file: source.file, origin: source.origin, settings, problems, warnings, missingSecrets };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { origin, problems } = error;
    return { file: origin, origin, settings: null, problems, warnings: [], missingSecrets: [] };
  }
}

/** A missing or empty file is reported rather than called valid. */
function nothingToServe({ source, settings, problems }: ExaminedSettings): readonly ConfigProblem[] {
  if (source.file === null) {
    const message = `there is no ${configFileName} here; \`sluice config init\` writes one, and without one \`sluice serve\` runs the built-in demo and providers whose keys are in the environment`;
    return [{ path: "", message }];
  }
  const isEmpty =
    settings.named.models.length === 0 && !problems.some(({ path }) => path.startsWith("models"));
  return isEmpty
    ? [{ path: "models", message: "no models are configured, so nothing is served; add [[models]]" }]
    : [];
}

/** Not earlier: nothing needs to be done yet, and `--strict` would fail on the warning. */
const warnsBeforeMs = 30 * msPerDay;

/** Models that their providers stop serving soon, or have stopped serving. */
function endingModels({ settings: { models } }: ExaminedSettings): readonly string[] {
  const untilMs = systemClock.wallMs() + warnsBeforeMs;
  const ending = models.filter(({ ends }) => ends !== null && Date.parse(ends) <= untilMs);
  return [...Map.groupBy(ending, ({ ends }) => ends)].map(([day, ended]) => {
    const names = ended.map(({ id }) => `"${id}"`).join(", ");
    return `${names}: the provider stops serving ${ended.length === 1 ? "this model" : "these models"} on ${day}; move clients to a different model`;
  });
}

/** A price in another unit is a problem, unless the file confirms it. */
function lintedPrices({ models, places, settings: { written } }: ExaminedSettings) {
  const problems = new ProblemList(places);
  const warnings: string[] = [];
  for (const model of models) {
    for (const { path, message, isOtherUnit } of lintPrices(model, (name) => vendorModels(name, written))) {
      const at = `${places.pathOfModel(model.id)}.${path}`;
      if (isOtherUnit && model.price_confirmed !== true)
        problems.add(at, `${message}; if it is right, set price_confirmed = true`);
      else warnings.push(`${places.describe(at)} ${message}`);
    }
  }
  return { problems: problems.all, warnings };
}

/** The catalog of the vendor that a provider calls, as the file names it, or by its kind or address. */
function vendorModels(name: string | undefined, written: JsonObject): readonly ModelConfig[] {
  const providers = isObject(written["providers"]) ? written["providers"] : {};
  const { kind, catalog, base_url: baseUrl } = (providers[name ?? ""] ?? {}) as Partial<ProviderConfig>;
  for (const each of [catalog, kind, catalogAt(baseUrl ?? "")]) {
    const models = typeof each === "string" ? shippedCatalog(each) : null;
    if (models !== null) return models;
  }
  return [];
}
