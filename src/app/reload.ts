import type { Admin } from "../admin/create.ts";
import { type Reloaded, reloadable, withWarnings } from "../config/reload.ts";
import type { Settings } from "../config/settings.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { configure } from "./gateway.ts";
import type { Services } from "./services.ts";

/** Applies a new configuration as far as possible; requests in flight keep the old one. */
export async function reloadGateway(
  gateway: Gateway,
  services: Services,
  admin: Admin,
  next: Settings,
): Promise<Reloaded> {
  const { logs, tracing } = services;
  const { log } = logs;
  const current = gateway.configured.settings;
  const reloaded = await settingsInForce(current, admin, next);
  if (!Bun.deepEquals(current.tracing, next.tracing)) await tracing.replace(next.tracing);
  logs.configure(next.log);
  gateway.addressLimiter.rpm = next.server.anonymousRpm;
  gateway.configured = configure(reloaded.settings, services);
  const lost = newlyLeftOut(current, next);
  if (lost.length > 0) {
    log.error(
      { providers: lost, warnings: next.warnings },
      "the reload has left out a provider that was in use, because its secret is gone; clients get 404 for the models that only it had",
    );
  }
  log.info(
    { models: next.models.length, not_in_force: reloaded.notInForce },
    reloaded.notInForce.length === 0 ? "configuration reloaded" : "configuration reloaded in part",
  );
  return reloaded;
}

/** Providers that are still in the configuration, and were usable until now. */
function newlyLeftOut(current: Settings, next: Settings): string[] {
  return next.named.providers.filter((name) => current.providers.has(name) && !next.providers.has(name));
}

/** The admin side applies its own part first, because it may fail to move its metrics to another address. */
async function settingsInForce(current: Settings, admin: Admin, next: Settings): Promise<Reloaded> {
  const possible = reloadable(current, next);
  const unmoved = await admin.reload(possible.settings);
  const settings = {
    ...possible.settings,
    admin: { ...possible.settings.admin, metricsListen: admin.metricsAddress },
    warnings: next.warnings,
  };
  return withWarnings(settings, [...possible.notInForce, ...unmoved]);
}
