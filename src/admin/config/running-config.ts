import { generalProviderSchema } from "../../config/schema/provider.ts";
import { configSchema } from "../../config/schema.ts";
import type { Settings } from "../../config/settings.ts";
import { masked, maskedValues, sectionView } from "../../config/view.ts";
import { withoutCredentials } from "../../config/written.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { isoOrNull } from "../moments.ts";

const { properties: sections } = configSchema;

/** All options of the running configuration with their effective values. The schema says which are secret. */
export function runningConfigView(settings: Settings): object {
  const { store, content, tracing, alerts, feed } = settings;
  const { otlp_endpoint, headers, ...traced } =
    tracing === null ? {} : sectionView(sections.tracing, tracing);
  return {
    server: sectionView(sections.server, settings.server),
    store: store && sectionView(sections.store, store),
    log: sectionView(sections.log, settings.log),
    retention: sectionView(sections.retention, settings.retention),
    responses: sectionView(sections.responses, settings.responses),
    batches: sectionView(sections.batches, settings.batches),
    // Without [content] there are no values; its options are listed nevertheless, so that they can be found.
    content: sectionView(sections.content, content ?? {}),
    websocket: sectionView(sections.websocket, settings.websocket),
    routes: settings.routes,
    money: sectionView(sections.money, settings.money),
    admin: sectionView(sections.admin, settings.admin),
    tracing: tracing && { otlp_endpoint, ...traced, headers },
    alerts: alerts && sectionView(sections.alerts, alerts),
    feed: feed && sectionView(sections.feed, { ...feed, since: isoOrNull(feed.sinceMs) }),
    providers: Object.fromEntries(
      [...settings.providers].map(([name, provider]) => [name, providerView(provider)]),
    ),
    models: settings.models.map((model) => model.id),
    warnings: settings.warnings,
  };
}

function providerView(provider: ProviderSettings): object {
  return {
    kind: provider.kind,
    base_url: withoutCredentials(provider.baseUrl),
    api_keys: provider.apiKeys.map(() => masked),
    dialects: provider.dialects,
    headers: maskedValues(provider.headers),
    quirks: provider.quirks,
    ...sectionView(generalProviderSchema, provider),
    timeouts: { ...provider.timeouts },
  };
}
