import type { DeploymentSettings, ModelSettings } from "../../config/settings.ts";
import type { FieldVendor } from "../../dialects/names/billed-fields.ts";
import { type Misread, misreadError } from "../../dialects/names/inspect-body.ts";
import { type ClientDialectName, isSpoken } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import { actsOn } from "../../vendors/registry.ts";
import type { ActiveConfig } from "../active-config.ts";

/*
 * Fields that are not in the client's dialect are allowed. One that costs, points to something stored or resembles a checked name
 * matters only where a provider may act on it.
 */

/** The deployments that get the request as the client wrote it. A translation drops every field that it does not know. */
export function speakersAmong(
  deployments: readonly DeploymentSettings[],
  dialect: ClientDialectName,
): readonly DeploymentSettings[] {
  return deployments.filter(({ dialects }) => isSpoken(dialect, dialects));
}

export function mayActOn(
  { settings }: ActiveConfig,
  deployment: DeploymentSettings,
  vendors: readonly FieldVendor[] = [],
): boolean {
  const provider = settings.providers.get(deployment.provider);
  return provider === undefined || actsOn(provider.kind, deployment, vendors);
}

interface NamedRequest {
  readonly configured: ActiveConfig;
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  readonly dialect: ClientDialectName;
  readonly isMetered?: true | undefined;
}

/** Throws if a provider may read the name as the one that was checked. Metered requests are priced by their fields, so all count. */
export function rejectMisread(
  { configured, key, model, dialect, isMetered }: NamedRequest,
  misread: Misread,
): void {
  const receivers = speakersAmong(configured.catalog.reached(model, key.scope), dialect);
  if (isMetered || receivers.some((deployment) => mayActOn(configured, deployment))) {
    throw misreadError(misread);
  }
}
