import type { Admin } from "../admin/create.ts";
import { nextLoopIteration } from "../base/loop/pacer.ts";
import { priceChanges } from "../catalog/price-changes.ts";
import type { ReloadConsent } from "../config/on-disk.ts";
import { type ReloadedSettings, reloadable, withWarnings } from "../config/reload.ts";
import type { Settings } from "../config/settings.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { configure } from "./gateway.ts";
import type { Services } from "./services.ts";

interface ReloadedParts {
  readonly gateway: Gateway;
  readonly services: Services;
  readonly admin: Admin;
}

/** Applies a new configuration as far as possible; requests in flight keep the old one. */
export async function reloadGateway(
  { gateway, services, admin }: ReloadedParts,
  next: Settings,
  consent: ReloadConsent,
): Promise<ReloadedSettings> {
  const { logs, tracing } = services;
  const { log } = logs;
  const current = gateway.configured.settings;
  const reloaded = await applicableSettings(current, admin, next, consent);
  if (!Bun.deepEquals(current.tracing, next.tracing)) await tracing.replace(next.tracing);
  // Each of these takes some 30 ms with thousands of models.
  await nextLoopIteration();
  logs.configure(next.log);
  if (reloaded.settings.content !== null) services.content?.configure(reloaded.settings.content);
  gateway.addressLimiter.rpm = next.server.anonymousRpm;
  gateway.configured = configure(reloaded.settings, services, gateway.configured);
  await nextLoopIteration();
  await recordPriceChanges(services, current, reloaded.settings);
  const lost = newlySkipped(current, next);
  if (lost.length > 0) {
    log.error(
      { providers: lost, warnings: next.warnings },
      "provider disabled by reload: its secret is missing; models served only by it now return 404",
    );
  }
  log.info(
    { models: next.models.length, needs_restart: reloaded.needsRestart },
    reloaded.needsRestart.length === 0 ? "configuration reloaded" : "configuration partly reloaded",
  );
  return reloaded;
}

/**
 * Records price changes, which explain charges at different rates: since when a price applies, and from which machine's
 * file it came.
 */
async function recordPriceChanges({ backend, clock, logs }: Services, before: Settings, after: Settings) {
  const shared = {
    atMs: clock.wallMs(),
    actor: "reload",
    address: after.server.node,
    action: "price.change",
  };
  for (const { model, detail } of priceChanges(before, after)) {
    logs.log.info({ model, detail }, "a price has changed");
    try {
      await backend.store.admin.appendAudit({ ...shared, target: model, detail });
    } catch (error) {
      logs.log.error(
        { model, detail, err: error },
        "a price has changed, and the audit log could not be written",
      );
    }
  }
}

/** Providers that are still in the configuration, and were usable until now. */
function newlySkipped(current: Settings, next: Settings): string[] {
  return next.named.providers.filter((name) => current.providers.has(name) && !next.providers.has(name));
}

/** The admin side applies its own part first, because it can reject the settings, or fail to move its metrics to another address. */
async function applicableSettings(
  current: Settings,
  admin: Admin,
  next: Settings,
  consent: ReloadConsent,
): Promise<ReloadedSettings> {
  const possible = reloadable(current, next);
  const unmoved = await admin.reload(possible.settings, consent);
  const settings = {
    ...possible.settings,
    admin: { ...possible.settings.admin, metricsListen: admin.metricsAddress },
    warnings: next.warnings,
  };
  return withWarnings(settings, [...possible.needsRestart, ...unmoved]);
}
