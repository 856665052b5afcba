import { atOnce, type Stepwise } from "../base/loop/in-turns.ts";
import { configFileName } from "../config/defaults.ts";
import { type ExaminedSettings, examiningSettings, type LoadOptions } from "../config/load.ts";
import type { CheckedConfig } from "../config/on-disk.ts";
import { ConfigError, type ConfigProblem } from "../config/problems.ts";
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
    const problems = [...examined.problems, ...nothingToServe(examined)];
    const warnings = [...settings.warnings, ...priceWarnings(examined)];
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
  return isEmpty ? [{ path: "models", message: "there is none; add [[models]], or nothing is served" }] : [];
}

function priceWarnings({ models, places }: ExaminedSettings): readonly string[] {
  return models.flatMap((model) =>
    lintPrices(model).map(({ path, message }) => {
      const at = `${places.pathOfModel(model.id)}.${path}`;
      return `${places.describe(at)} ${message}`;
    }),
  );
}
