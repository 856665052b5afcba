import { durationText } from "./duration.ts";
import type { Places } from "./places.ts";
import type { ConfigFile } from "./schema.ts";
import type { ModelSettings } from "./settings.ts";

/**
 * A call ends at the smaller of two limits: its provider's `timeouts.total` and that of the exchange. Warns of each pair of
 * which one has no effect, once, however many models share it. A smaller `total` beside the default limit is intended.
 */
export function warnOfLimits(config: ConfigFile, models: readonly ModelSettings[], places: Places): string[] {
  const written = new Map((config.models ?? []).map((model) => [model.id, model]));
  const warnings = models.flatMap((model) =>
    model.deployments.map(({ provider, timeouts: { totalMs } }) => {
      const stated = written.get(model.id)?.timeouts;
      if (totalMs === 0 || totalMs === model.maxExchangeMs) return "";
      const own = `${places.pathOfModel(model.id)}.timeouts`;
      const totalPath = stated?.total === undefined ? `providers.${provider}.timeouts.total` : `${own}.total`;
      const limitPath = stated?.exchange === undefined ? "server.max_exchange" : `${own}.exchange`;
      const isStated = stated?.exchange !== undefined || config.server?.max_exchange !== undefined;
      const total = `${places.describe(totalPath)} is ${durationText(totalMs)}`;
      const limit = `${isStated ? places.describe(limitPath) : limitPath}, ${durationText(model.maxExchangeMs)}`;
      if (totalMs > model.maxExchangeMs) return `${total}, and has no effect beyond ${limit}`;
      return isStated ? `${total}, so calls end before ${limit}` : "";
    }),
  );
  return [...new Set(warnings)].filter((warning) => warning !== "");
}
