/** Dimensions of spending besides the key: the origin of a request, and the labels that its caller sent. */
export interface CallerLabels {
  /** Who the key belongs to. */
  readonly owner: string | null;
  readonly user: string | null;
  /** The caller's name for the conversation. */
  readonly session: string | null;
  /** The agent inside the client that sent the request; null for the client's main conversation. */
  readonly agent: string | null;
  /** The agent that started it. */
  readonly parentAgent: string | null;
  readonly tags: Tags;
}

/** Labels as they are read back from the store. */
export interface StoredLabels extends CallerLabels {
  /** The batch that it was a line of; else null. */
  readonly batch: string | null;
  /** The model that was requested, if one of its fallbacks ran; else null. */
  readonly fallbackFrom: string | null;
  /** The model that was requested, if a cap made it run on another one; else null. */
  readonly steppedDownFrom: string | null;
  /** Whether the conversation decided where the request was sent. */
  readonly affinity: "conversation" | "none";
}

export type Tags = Readonly<Record<string, string>>;

/** Maximum number of tags from a client, a key or an account. */
export const maxTags = 8;

const asciiLabel = /^[!-~](?:[ -~]*[!-~])?$/;
const invisible = /[\p{Cc}\p{Default_Ignorable_Code_Point}]+/gu;

/** An owner, end user or tag as it is stored and compared: texts that look the same are the same. */
export function cleanLabel(text: string): string {
  if (asciiLabel.test(text)) return text;
  return text.replaceAll(invisible, "").normalize("NFC").trim();
}

const tagForm = /^([\w.:@-]{1,64})=([\w.:@-]{1,64})$/;

/** Tags from `name=value` texts. Null if one is malformed, a name is there twice, or there are too many. */
export function tagsFromTexts(texts: readonly string[]): Tags | null {
  const tags = new Map<string, string>();
  for (const text of texts) {
    const [, name, value] = tagForm.exec(cleanLabel(text)) ?? [];
    if (name === undefined || value === undefined || tags.has(name)) return null;
    tags.set(name, value);
  }
  return tags.size > maxTags ? null : Object.fromEntries(tags);
}

export function cleanTags(tags: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).map((pair) => pair.map(cleanLabel)));
}

/** `project=atlas, env=prod` */
export function tagsText(tags: Tags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/**
 * Stored labels, as a JSON object by the names that reports group by (`owner`, `user`, `session`, `agent`, `parent_agent`,
 * `tag:project`). A value that reports count as `other` has a plus before its name. `fallback_from` is the requested model if one of its
 * fallbacks runs, `stepped_down_from` if a cap names another model to run instead. `owner` is empty for a key without
 * one, and missing only in records from before owners were stored.
 */
export type LabelColumn = Readonly<Record<string, string>>;

export const tagPrefix = "tag:";
/** Prefix of the name of a value that reports count as `other`. */
export const uncounted = "+";

/** A request's labels are read for each of its limits: 45 → 12 µs for three caps by value. */
let latest: { readonly text: string; readonly labels: StoredLabels } | null = null;

export function readLabels(text: string | null): StoredLabels {
  if (text === null) return parsedLabels(null);
  if (latest?.text !== text) latest = { text, labels: parsedLabels(text) };
  return latest.labels;
}

function parsedLabels(text: string | null): StoredLabels {
  const kept: LabelColumn = text === null ? {} : JSON.parse(text);
  const {
    owner,
    user,
    session,
    agent,
    parent_agent: parentAgent,
    affinity,
    batch,
    fallback_from: fallbackFrom,
    stepped_down_from: steppedDownFrom,
    ...tags
  } = Object.fromEntries(Object.entries(kept).map(([name, value]) => [name.replace(uncounted, ""), value]));
  return {
    fallbackFrom: fallbackFrom ?? null,
    steppedDownFrom: steppedDownFrom ?? null,
    owner: owner || null,
    user: user ?? null,
    session: session ?? null,
    agent: agent ?? null,
    parentAgent: parentAgent ?? null,
    batch: batch ?? null,
    tags: Object.fromEntries(
      Object.entries(tags).map(([name, value]) => [name.slice(tagPrefix.length), value]),
    ),
    affinity: affinity === "none" ? "none" : "conversation",
  };
}

/** Owners are stored and compared like this: addresses without regard to case. */
export function ownerLabel(owner: string | null): string {
  if (owner === null) return "";
  const name = cleanLabel(owner);
  return name.includes("@") ? name.toLowerCase() : name;
}

const labelName = /^(?:user|session|agent|parent_agent|batch|tag:[\w.:@-]{1,64})$/;

export function isLabelName(name: string): boolean {
  return labelName.test(name);
}

/** Whether caps can count each value of the label. */
export function canBeCapped(name: string): boolean {
  return name === "owner" || name === "user" || (name.startsWith(tagPrefix) && isLabelName(name));
}
