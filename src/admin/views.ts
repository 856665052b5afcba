/**
 * The admin API's answers as they are on the wire. The schemas produce the OpenAPI document and these types; the
 * routes return them and the dashboard reads them, so a field renamed on one side fails to compile on the other.
 */
export type * from "./accounts/schema.ts";
export type * from "./accounts/statement-schema.ts";
export type * from "./auth/device/schema.ts";
export type * from "./config/schema.ts";
export type * from "./content/schema.ts";
export type * from "./keys/schema.ts";
export type * from "./models/schema.ts";
export type * from "./reconcile/schema.ts";
export type * from "./reports/schema.ts";
export type * from "./requests/schema.ts";
export type { Page } from "./routes/shapes.ts";
export type * from "./system/alert-schema.ts";
export type * from "./system/schema.ts";
export type * from "./system/setup-schema.ts";

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
