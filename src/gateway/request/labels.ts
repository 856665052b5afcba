import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  keptLabels,
  maxTags,
  type Tags,
  tagsFromTexts,
  withDefaultTags,
} from "../../base/requests/labels.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { AdmittedCall } from "../stages.ts";
import { sessionOf } from "./conversation.ts";

const header = "x-sluice-tags";
const noTags: Tags = {};

/**
 * Notes the labels of the client, its key and its account. Returns the client's own name for the conversation; null if it has none.
 * Throws `invalid_request` for malformed tags.
 */
export function labelExchange(
  { gateway, exchange, key }: AdmittedCall,
  dialect: ClientDialectName,
  body: JsonObject,
): string | null {
  const { headers } = exchange.call.request;
  const user = clientDialect(dialect).readUser(body);
  const session = sessionOf(headers, body);
  const tags = withDefaultTags(withDefaultTags(tagsOf(headers), key.tags), key.accountTags);
  if (user === null && session === null && tags === noTags) return session;
  exchange.callerLabels = keptLabels({ user, session, tags }, (name, value) =>
    gateway.labelValues.isCounted(key.id, name, value, exchange.atMs),
  );
  return session;
}

/** `x-sluice-tags: project=atlas,env=prod` */
export function tagsOf(headers: Headers): Tags {
  const text = headers.get(header);
  if (text === null) return noTags;
  const tags = tagsFromTexts(text.split(",", maxTags + 1));
  if (tags === null) throw malformed();
  return tags;
}

function malformed(): Error {
  return invalidRequest(
    `${header} must be a list such as project=atlas,env=prod: at most ${maxTags} different names, and 1 to 64 letters, ` +
      "digits or any of _.:@- for each name and value.",
    header,
  );
}
