import { isObject, type Json, type JsonObject, nestsTooDeeply, tryParse } from "../../base/json.ts";
import { hasTooManyValues } from "./json-bytes.ts";

/** Readers for untrusted JSON: each returns null (or an empty list) if the value has a different type. */

export function stringOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** A non-empty text; else null. */
export function nonEmpty(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function numberOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Null for anything else: a provider may read "1000" as a number, but it is none. */
export function countOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function booleanOf(value: Json | undefined): boolean | null {
  return typeof value === "boolean" ? value : null;
}

export function objectOf(value: Json | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}

/** Shared, because most events of a stream lack most lists. */
const none: readonly never[] = [];

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : none;
}

export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : none;
}

/** The first object in a list. */
export function firstObjectOf(value: Json | undefined): JsonObject | null {
  return objectOf(listOf(value).find(isObject));
}

export function stringsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : none;
}

/** An empty value, as servers in Go write it, also within objects. */
export function isZero(value: Json | undefined): boolean {
  if (isObject(value)) return Object.values(value).every(isZero);
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

/** Null if the text is not a JSON object, has more values than any real one, or nests too deeply to be serialized again. */
export function parseObject(text: string): JsonObject | null {
  if (hasTooManyValues(text)) return null;
  const value = tryParse(text);
  return nestsTooDeeply(value, text) ? null : objectOf(value);
}
