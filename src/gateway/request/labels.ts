import { invalidRequest } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import {
  type CallerLabels,
  cleanLabel,
  type LabelColumn,
  maxTags,
  ownerLabel,
  type Tags,
  tagPrefix,
  tagsFromTexts,
  uncounted,
} from "../../base/requests/labels.ts";
import { maskSecrets } from "../../base/secrets/secrets.ts";
import { parseObject, stringOf } from "../../dialects/json/json-fields.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { ClientRequest } from "./client-request.ts";

const header = "x-sluice-tags";
/** For clients whose requests have no field for it. */
const userHeader = "x-sluice-user";
/** Claude Code names the agent that sent a request, and the one that started it. */
const agentHeader = "x-claude-code-agent-id";
const parentAgentHeader = "x-claude-code-parent-agent-id";
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
  const { userHeaders } = gateway.configured.settings.server;
  const named = givenUser(clientDialect(dialect).readUser(body));
  const user =
    (key.userHeaders ? userIn(headers, userHeaders) : null) ??
    (named === null ? userIn(headers, [userHeader]) : withoutSession(named));
  const session = sessionOf(headers, body);
  const sent = tagsOf(headers);
  const defaults = key.tags || key.accountTags ? { ...key.accountTags, ...key.tags } : noTags;
  const counted = gateway.accounts.countedTags(key.id).filter((name) => Object.hasOwn(defaults, name));
  for (const name of counted) delete sent[name];
  const tags = defaults === noTags ? sent : { ...defaults, ...sent };
  // A client's many values must not put an operator's tag among the `other` ones.
  const isDefault = (tag: string) => Object.hasOwn(defaults, tag) && !Object.hasOwn(sent, tag);
  const labels = storedLabels(
    {
      ...{ owner: key.owner, user, session, tags },
      agent: headers.get(agentHeader),
      parentAgent: headers.get(parentAgentHeader),
    },
    (name, value) =>
      (name.startsWith(tagPrefix) && isDefault(name.slice(tagPrefix.length))) ||
      gateway.labelValues.isCounted(key.id, name, value, exchange.atMs),
  );
  const own = exchange.call.origin.labels;
  exchange.callerLabels = own === null ? labels : { ...labels, ...own };
  return session;
}

/** The end user from a program's header. It takes precedence over the body, which the user can write. */
function userIn(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const user = givenUser(headers.get(name));
    if (user !== null) return user;
  }
  return null;
}

/** Null if nothing of it is visible. */
function givenUser(user: string | null): string | null {
  return user === null ? null : cleanLabel(user.slice(0, maxReadChars)) || null;
}

/** Longer ones are not Claude Code's. */
const maxIdentityChars = 1024;

/** Claude Code's `user_DEVICE_account_UUID_session_UUID`, of its older versions. */
const claudeCodeUser = /^(user_[0-9a-f]+)_account_([\w-]*)_session_/;

/**
 * Claude Code names the device, the account and the session in one value, which would be another end user in every session: only
 * the account counts, or the device without one.
 */
function withoutSession(user: string): string {
  const [, device, account] = claudeCodeUser.exec(user) ?? [];
  if (device !== undefined) return account || device;
  if (!user.startsWith("{") || user.length > maxIdentityChars) return user;
  const { session_id: session, account_uuid: uuid, device_id: id } = parseObject(user) ?? {};
  return (typeof session === "string" && (stringOf(uuid) || stringOf(id))) || user;
}

/** `x-sluice-tags: project=atlas,env=prod` */
function tagsOf(headers: Headers): Record<string, string> {
  const text = headers.get(header);
  if (text === null) return {};
  const tags = tagsFromTexts(text.split(",", maxTags + 1));
  if (tags === null) throw malformed();
  return { ...tags };
}

function malformed(): Error {
  return invalidRequest(
    `${header} must be a list such as project=atlas,env=prod: at most ${maxTags} different names, and 1 to 64 letters, ` +
      "digits or any of _.:@- for each name and value.",
    header,
  );
}

/** Headers of Claude Code, of Codex and its older versions, and of others. */
const sessionHeaders = [
  "x-claude-code-session-id",
  "session-id",
  "thread-id",
  "session_id",
  "conversation_id",
  "x-session-id",
];

/** The client's own name for the conversation that a request belongs to; null if it has none. */
export function sessionOf(
  headers: Headers,
  { prompt_cache_key: cacheKey, metadata }: JsonObject,
): string | null {
  for (const header of sessionHeaders) {
    const name = headers.get(header);
    if (name !== null && name !== "") return name;
  }
  for (const name of [cacheKey, isObject(metadata) ? metadata["user_id"] : null]) {
    if (typeof name === "string" && name !== "") return name;
  }
  return null;
}

/**
 * Identifies a key's conversation without stored state: the same for every turn, on every gateway. A conversation without a
 * name is identified by its opening.
 */
export function conversationHash(keyId: string, session: string | null, request: ClientRequest): number {
  return Bun.hash.xxHash32(keyId, session === null ? request.openingHash : Bun.hash.xxHash32(session));
}

/** More of a label is not kept. */
const maxChars = 256;
/** Secrets are masked in more than is kept, so that no part of one remains at the end. */
const maxReadChars = 16_384;

/** `isCounted`: reports list the value by itself; otherwise it is grouped under `other`. Owners always are. */
export function storedLabels(
  { owner, user, session, agent, parentAgent, tags }: CallerLabels,
  isCounted: (name: string, value: string) => boolean,
): LabelColumn {
  const kept: Record<string, string> = { owner: ownerLabel(owner) };
  const keep = (name: string, text: string) => {
    const value = labelText(text);
    if (value === "") return;
    kept[isCounted(name, value) ? name : uncounted + name] = value;
  };
  if (user !== null) keep("user", user);
  if (session !== null) keep("session", session);
  if (agent !== null) keep("agent", agent);
  if (parentAgent !== null) keep("parent_agent", parentAgent);
  for (const name in tags) keep(tagPrefix + labelText(name), tags[name] ?? "");
  return kept;
}

/** A label in the form in which it is stored, also for a cap of one value. PostgreSQL rejects unpaired surrogates. */
export function labelText(text: string): string {
  const cleaned = cleanLabel(text.slice(0, maxReadChars));
  return maskSecrets(cleaned).slice(0, maxChars).trimEnd().toWellFormed();
}
