import type { FormatTarget, MeteredFormat, MeteredRoute } from "../dialects/metered/route.ts";
import type { ProviderSettings } from "./provider.ts";
import { vendorOf } from "./registry.ts";

/** A format, under the name that the route has for it, and the model that it is for. */
export interface ChosenFormat {
  readonly name: string;
  readonly format: MeteredFormat;
  readonly target: FormatTarget;
}

/** A model as its provider knows it. */
interface RequestedModel {
  readonly upstreamModel: string;
  readonly family: string | null;
}

/** How to call a deployment; null if its vendor does not support the route. */
export function formatFor(
  route: MeteredRoute,
  { upstreamModel: model, family }: RequestedModel,
  settings: ProviderSettings,
): ChosenFormat | null {
  const target = { model, name: family ?? model, quirks: settings.quirks };
  const names = vendorOf(settings.kind).meteredFormats?.(target.name, settings) ?? [];
  for (const name of names) {
    const format = route.formats[name];
    if (format !== undefined) return { name, format, target };
  }
  return null;
}
