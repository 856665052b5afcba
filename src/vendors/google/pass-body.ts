import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf } from "../../dialects/json/json-fields.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import type { BodyContext } from "../vendor.ts";
import { safetyFields } from "./safety.ts";

/** The operator's safety settings replace a client's, in either spelling. */
export function safetyChanges(_: JsonObject, { options }: Pick<BodyContext, "options">): MemberChanges {
  const fields = safetyFields(options);
  return Object.keys(fields).length === 0 ? fields : { safety_settings: undefined, ...fields };
}

/** Vertex AI has no ids of calls, and no tiers. */
export function vertexChanges(body: JsonObject, context: Pick<BodyContext, "options">): MemberChanges {
  const contents = withoutCallIds(body["contents"]);
  return {
    ...safetyChanges(body, context),
    ...(contents === body["contents"] ? {} : { contents }),
    ...("serviceTier" in body ? { serviceTier: undefined } : {}),
    ...("service_tier" in body ? { service_tier: undefined } : {}),
  };
}

const calls = ["functionCall", "function_call", "functionResponse", "function_response"];

/** Returns the same value if it has none. */
function withoutCallIds(contents: Json | undefined): Json | undefined {
  let isChanged = false;
  const withoutId = (part: Json): Json => {
    if (!isObject(part)) return part;
    const name = calls.find((each) => isObject(part[each]));
    const call = name === undefined ? null : part[name];
    if (name === undefined || !isObject(call) || call["id"] === undefined) return part;
    isChanged = true;
    const { id: _, ...rest } = call;
    return { ...part, [name]: rest };
  };
  const all = isObject(contents) ? [contents] : listOf(contents);
  const changed = all.map((content) => {
    if (!isObject(content)) return content;
    const { parts } = content;
    return { ...content, parts: isObject(parts) ? [withoutId(parts)] : listOf(parts).map(withoutId) };
  });
  return isChanged ? changed : contents;
}
