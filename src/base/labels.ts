/** What a caller says about a request, by which spending is told apart. */
export interface CallerLabels {
  readonly user: string | null;
  /** The caller's name for the conversation. */
  readonly session: string | null;
  readonly tags: Tags;
  /** Whether the conversation decides where the request is sent. */
  readonly affinity: "conversation" | "none";
}

export type Tags = Readonly<Record<string, string>>;
export const noTags: Tags = {};

/** More of a string is not kept. */
const maxChars = 256;
const tagPrefix = "tag:";

/**
 * CallerLabels as they are kept: a flat JSON object with the names that reports are grouped by (`user`, `session`,
 * `tag:project`). Null where there is nothing to keep.
 */
export function labelsText({ user, session, tags, affinity }: CallerLabels): string | null {
  if (user === null && session === null && tags === noTags && affinity === "conversation") return null;
  const kept: Record<string, string> = affinity === "none" ? { affinity } : {};
  if (user !== null) kept["user"] = keptText(user);
  if (session !== null) kept["session"] = keptText(session);
  for (const name in tags) kept[tagPrefix + name] = tags[name] ?? "";
  return JSON.stringify(kept);
}

/** PostgreSQL reads neither NUL nor half a character. */
function keptText(text: string): string {
  return text.slice(0, maxChars).replaceAll("\0", "").toWellFormed();
}

/** Reads what `labelsText` wrote. */
export function readLabels(text: string | null): CallerLabels {
  const { user = null, session = null, affinity, ...tags } = text === null ? {} : JSON.parse(text);
  return {
    user,
    session,
    tags: Object.fromEntries(
      Object.entries<string>(tags).map(([name, value]) => [name.slice(tagPrefix.length), value]),
    ),
    affinity: affinity ?? "conversation",
  };
}

export interface AskedLabels {
  readonly user?: string | undefined;
  readonly session?: string | undefined;
  /** `project=atlas` */
  readonly tag?: string | undefined;
}

/** What an operator looks for, by the names that labels are kept under. */
export function labelsAsked({ user, session, tag }: AskedLabels): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]*)=(.*)$/.exec(tag ?? "") ?? [];
  return {
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(tag === undefined ? {} : { [tagPrefix + (name ?? tag)]: value ?? "" }),
  };
}
