/**
 * The admin API's answers, as they stand on the wire. The schemas make the API's document and these types;
 * the routes produce them and the dashboard reads them, so a field that one side renames fails to compile
 * on the other.
 */
export type * from "./views/exchanges.ts";
export type * from "./views/keys.ts";
export type * from "./views/models.ts";
export type { Page } from "./views/shapes.ts";
export type * from "./views/system.ts";
export type * from "./views/usage.ts";
