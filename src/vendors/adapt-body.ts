import type { JsonObject } from "../base/json.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import { parseWhole } from "../dialects/json/parse-body.ts";
import { type MemberChanges, patchMembers } from "../dialects/json/patch.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";
import { publicOptions } from "./options.ts";
import type { ProviderSettings } from "./provider.ts";
import { vendorOf } from "./registry.ts";
import type { BodyContext } from "./vendor.ts";

/** A vendor that needs changes in a body. */
export interface BodyVendor extends BodyContext {
  readonly kind: string;
}

/** Null if the vendor accepts the dialect's bodies unchanged. */
export function bodyVendorOf(
  settings: ProviderSettings,
  dialect: ProviderDialectName,
  model: string,
  headers: ForwardedHeaders,
  purpose: BodyContext["purpose"] = "generate",
): BodyVendor | null {
  const { kind } = settings;
  const vendor = vendorOf(kind);
  if (vendor.bodyChanges === undefined) return null;
  const options = publicOptions(settings.options);
  return vendor.bodyChanges(dialect, options) === null
    ? null
    : { kind, dialect, options, purpose, model, headers };
}

export interface AdaptedBody<Body> {
  readonly body: Body;
  /** Fields of the request that were dropped, starting with `dropped`. */
  readonly dropped: readonly string[];
}

/** Changes a body; members that the vendor accepts unchanged stay as the client wrote them, byte for byte. */
export function adaptBytes(
  body: Uint8Array,
  vendor: BodyVendor | null,
  dropped: readonly string[],
): AdaptedBody<Uint8Array> {
  if (vendor === null) return { body, dropped };
  const all = new Set(dropped);
  return { body: patchMembers(body, changesFor(parseWhole(body), vendor, all)), dropped: [...all] };
}

export function adaptObject(
  body: JsonObject,
  vendor: BodyVendor | null,
  dropped: readonly string[],
): AdaptedBody<JsonObject> {
  if (vendor === null) return { body, dropped };
  const all = new Set(dropped);
  const adapted: JsonObject = { ...body };
  for (const [name, value] of Object.entries(changesFor(body, vendor, all))) {
    if (value === undefined) delete adapted[name];
    else adapted[name] = value;
  }
  return { body: adapted, dropped: [...all] };
}

function changesFor(body: JsonObject, vendor: BodyVendor, dropped: Set<string>): MemberChanges {
  const { kind, dialect, options } = vendor;
  return vendorOf(kind).bodyChanges?.(dialect, options)?.(body, vendor, dropped) ?? {};
}
