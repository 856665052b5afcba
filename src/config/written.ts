import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { withoutSecrets } from "../base/secrets/secrets.ts";
import { isReference } from "./secrets.ts";

const mask = "********";

/**
 * The configuration as written, for display. References to secrets stay. The schema accepts no plain secrets, but the
 * value of a header, or an address, may contain one. Not even its digest is shown: a weak secret could be guessed from
 * that.
 */
export function writtenWithoutSecrets(document: JsonObject): JsonObject {
  return shownTable(document, false);
}

function shownTable(table: JsonObject, isHeaders: boolean): JsonObject {
  const fields = Object.entries(table).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, shown(value, isHeaders || name === "headers")] as const],
  );
  return Object.fromEntries(fields);
}

function shown(value: Json, isHeader: boolean): Json {
  if (Array.isArray(value)) return value.map((each) => shown(each, isHeader));
  if (isObject(value)) return shownTable(value, isHeader);
  if (typeof value !== "string" || isReference(value)) return value;
  const rest = isHeader ? "" : withoutSecrets(withoutCredentials(value));
  return rest === value ? value : `${rest} ${mask}`.trimStart();
}

/** An address may carry a password before its host, or a key in its query. */
export function withoutCredentials(text: string): string {
  const url = /^[a-z][a-z+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || (url.username === "" && url.password === "" && url.search === "")) return text;
  // A database's address names a user and has options, and neither is secret.
  if (!url.protocol.startsWith("http")) {
    url.password = "";
    url.searchParams.delete("password");
    return url.href;
  }
  return `${url.origin}${url.pathname}`;
}
