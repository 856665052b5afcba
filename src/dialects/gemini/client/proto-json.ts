import { invalidRequest } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { camelCase } from "../../../base/proto-json.ts";

/** Objects that are the caller's own, or that another reader knows: their members keep their spelling. */
const callers: ReadonlySet<string> = new Set([
  ...["args", "response", "labels", "parameters", "parametersJsonSchema"],
  ...["responseSchema", "responseJsonSchema", "_responseJsonSchema", "schema"],
]);

/** Repeated fields, which a single value may stand for. */
const lists: ReadonlySet<string> = new Set([
  ...["contents", "parts", "tools", "functionDeclarations", "safetySettings", "stopSequences"],
  ...["responseModalities", "allowedFunctionNames"],
]);

/**
 * A body with every field as Google documents it. Both spellings of one field in an object are rejected: it is not documented which of
 * them counts, and the hold reads only one.
 */
export function readProtoJson(body: JsonObject): JsonObject {
  return readObject(body, "");
}

function readObject(object: JsonObject, path: string): JsonObject {
  const read = new Map<string, Json>();
  for (const name in object) {
    const value = object[name];
    if (value === undefined) continue;
    const field = camelCase(name);
    if (read.has(field)) throw spelledTwice(path + name, path + field);
    read.set(field, callers.has(field) ? value : readValue(value, field, path + name));
  }
  // Unlike an assignment, this makes a member of `__proto__`, too.
  return Object.fromEntries(read);
}

function readValue(value: Json, field: string, path: string): Json {
  const isSingle = lists.has(field) && value !== null && !Array.isArray(value);
  return isSingle ? [readItem(value, path)] : readItem(value, path);
}

function readItem(value: Json, path: string): Json {
  if (Array.isArray(value)) return value.map((item, index) => readItem(item, `${path}[${index}]`));
  return isObject(value) ? readObject(value, `${path}.`) : value;
}

function spelledTwice(path: string, field: string): Error {
  return invalidRequest(`\`${path}\` is set in two spellings. Send it once, as \`${field}\`.`, path);
}
