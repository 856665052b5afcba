import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { keptLabels, type Tags } from "../../base/requests/labels.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { sessionOf } from "./conversation.ts";

const header = "x-sluice-tags";
const maxTags = 8;
const noTags: Tags = {};
const tag = /^\s*([\w.:@-]{1,64})=([\w.:@-]{1,64})\s*$/;

/** Notes what the client says about the request. Throws `invalid_request` for malformed tags. */
export function labelExchange(
  { labelValues }: Gateway,
  exchange: Exchange,
  { id: keyId }: KeyRecord,
  dialect: ClientDialectName,
  body: JsonObject,
): void {
  const { headers } = exchange.call.request;
  const user = clientDialect(dialect).readUser(body);
  const session = sessionOf(headers, body);
  const tags = tagsOf(headers);
  exchange.session = session;
  if (user === null && session === null && tags === noTags) return;
  exchange.callerLabels = keptLabels({ user, session, tags }, (name, value) =>
    labelValues.isCounted(keyId, name, value, exchange.atMs),
  );
}

/** `x-sluice-tags: project=atlas,env=prod` */
export function tagsOf(headers: Headers): Tags {
  const text = headers.get(header);
  if (text === null) return noTags;
  const tags = new Map<string, string>();
  for (const part of text.split(",", maxTags + 1)) {
    const [, name, value] = tag.exec(part) ?? [];
    if (name === undefined || value === undefined || tags.has(name)) throw malformed();
    tags.set(name, value);
  }
  if (tags.size > maxTags) throw malformed();
  return Object.fromEntries(tags);
}

function malformed(): Error {
  return invalidRequest(
    `${header} must be a list such as project=atlas,env=prod: at most ${maxTags} different names, and 1 to 64 letters, ` +
      "digits or any of _.:@- for each name and value.",
    header,
  );
}
