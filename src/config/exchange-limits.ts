import { durationText } from "./duration.ts";
import type { ConfigFile, ModelConfig } from "./schema.ts";
import type { ModelSettings } from "./settings.ts";

/**
 * A call ends at the smaller of two limits: its provider's `timeouts.total` and that of the exchange. Warns of each pair of
 * which one has no effect, once, however many models share it. A smaller `total` beside the default limit is meant so.
 */
export function warnOfLimits(config: ConfigFile, models: readonly ModelSettings[]): string[] {
  const written = new Map((config.models ?? []).map((model) => [model.id, model]));
  const warnings = models.flatMap((model) =>
    model.deployments.map(({ provider, timeouts: { totalMs } }) => {
      const stated = written.get(model.id);
      if (totalMs === 0 || totalMs === model.maxExchangeMs || stated === undefined) return "";
      const total = `${totalOf(stated, provider)} is ${durationText(totalMs)}`;
      const limit = `${limitOf(stated)}, ${durationText(model.maxExchangeMs)}`;
      if (totalMs > model.maxExchangeMs) return `${total}, and has no effect beyond ${limit}`;
      return isLimitStated(config, stated) ? `${total}, so calls end before ${limit}` : "";
    }),
  );
  return [...new Set(warnings)].filter((warning) => warning !== "");
}

function totalOf({ id, timeouts }: ModelConfig, provider: string): string {
  return timeouts?.total === undefined
    ? `providers.${provider}.timeouts.total`
    : `timeouts.total of model "${id}"`;
}

function limitOf({ id, timeouts }: ModelConfig): string {
  return timeouts?.exchange === undefined ? "server.max_exchange" : `timeouts.exchange of model "${id}"`;
}

function isLimitStated({ server }: ConfigFile, { timeouts }: ModelConfig): boolean {
  return timeouts?.exchange !== undefined || server?.max_exchange !== undefined;
}
