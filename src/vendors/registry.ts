import { assert } from "../base/assert.ts";
import type { FormatTarget, MeteredFormat, MeteredRoute } from "../dialects/metered/route.ts";
import type { FieldVendor } from "../dialects/names/billed-fields.ts";
import { anthropic } from "./anthropic/index.ts";
import { azure } from "./azure/index.ts";
import type { ProviderBatches } from "./batches.ts";
import { bedrock } from "./bedrock/index.ts";
import { openAiCompatible } from "./compatible/index.ts";
import { TokenSources } from "./credentials/token-sources.ts";
import { demo } from "./demo/index.ts";
import { gemini } from "./gemini/index.ts";
import { openAi } from "./openai/index.ts";
import type { Provider, ProviderSettings } from "./provider.ts";
import type { UsageReport } from "./usage-report.ts";
import type { Vendor, VendorContext } from "./vendor.ts";
import { vertex } from "./vertex/index.ts";

/** All vendors, by the configuration's `kind`. */
const vendors = {
  openai: openAi,
  anthropic,
  azure,
  bedrock,
  gemini,
  vertex,
  "openai-compatible": openAiCompatible,
  demo,
} as const satisfies Readonly<Record<string, Vendor>>;

export type VendorKind = keyof typeof vendors;

// The cast holds because the type is computed from the same object as the list.
export const vendorKinds = Object.keys(vendors) as readonly VendorKind[];

const byKind = new Map<string, Vendor>(Object.entries(vendors));

/** The configuration's schema rejects other kinds. */
export function vendorOf(kind: string): Vendor {
  const vendor = byKind.get(kind);
  assert(vendor !== undefined, "there is no vendor of this kind", kind);
  return vendor;
}

/**
 * Whether a deployment may act on a field of these vendors that is not in its dialect. Without vendors: whether it may read another
 * spelling of a name as the name itself.
 */
export function actsOn(
  kind: string,
  { upstreamModel, family }: RequestedModel,
  vendors: readonly FieldVendor[] = [],
): boolean {
  const { fieldsOf, modelTraits } = vendorOf(kind);
  if (fieldsOf === undefined || modelTraits?.(family ?? upstreamModel)?.isStrict === false) return true;
  return vendors.some((vendor) => fieldsOf.includes(vendor));
}

/** The name of a provider in traces: the one that the conventions list, otherwise the operator's. */
export function genAiProviderName(settings: ProviderSettings): string {
  return vendorOf(settings.kind).genAiName?.(settings) ?? settings.name;
}

/** Without shared token sources, the provider requests its own tokens. */
export function createProvider(settings: ProviderSettings, context: Partial<VendorContext> = {}): Provider {
  return vendorOf(settings.kind).create(settings, { tokens: new TokenSources(), ...context });
}

/** The batches of a provider with the credential of this id, or with its first one if that is gone; null if it has none. */
export function providerBatches(
  { settings, credentials }: Provider,
  credentialId: string,
): ProviderBatches | null {
  const credential = credentials.find(({ id }) => id === credentialId) ?? credentials[0];
  return (credential && vendorOf(settings.kind).batches?.at(settings, credential)) ?? null;
}

/** All usage and cost reports that vendors offer. */
export const usageReports: readonly UsageReport[] = [...byKind.values()].flatMap(
  ({ usageReports }) => usageReports?.reports ?? [],
);

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
