/**
 * The admin API's answers as they are on the wire. The schemas produce the OpenAPI document and these types; the
 * routes return them and the dashboard reads them, so a field renamed on one side fails to compile on the other.
 */
export type * from "./views/accounts.ts";
export type * from "./views/attention.ts";
export type * from "./views/config.ts";
export type * from "./views/content.ts";
export type * from "./views/device.ts";
export type * from "./views/exchanges.ts";
export type * from "./views/keys.ts";
export type * from "./views/models.ts";
export type * from "./views/reconcile.ts";
export type * from "./views/setup.ts";
export type { Page } from "./views/shapes.ts";
export type * from "./views/statement.ts";
export type * from "./views/system.ts";
export type * from "./views/usage.ts";

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
