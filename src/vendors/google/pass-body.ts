import { isObject, type JsonObject } from "../../base/json.ts";
import { changeParts, spellings } from "../../base/proto-json.ts";
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
  const contents = changeParts(body["contents"], withoutCallId);
  return {
    ...safetyChanges(body, context),
    ...(contents === body["contents"] ? {} : { contents }),
    ...("serviceTier" in body ? { serviceTier: undefined } : {}),
    ...("service_tier" in body ? { service_tier: undefined } : {}),
  };
}

const calls = spellings(["functionCall", "functionResponse"]);

function withoutCallId(part: JsonObject): JsonObject {
  const name = calls.find((each) => isObject(part[each]));
  const call = name === undefined ? null : part[name];
  if (name === undefined || !isObject(call) || call["id"] === undefined) return part;
  const { id: _, ...rest } = call;
  return { ...part, [name]: rest };
}
