import { maskSecrets } from "../secrets/secrets.ts";
import { type CallerLabels, type LabelColumn, ownerLabel, tagPrefix, uncounted } from "./labels.ts";

/** More of a label is not kept. */
const maxChars = 256;
/** Secrets are masked in more than is kept, so that no part of one remains at the end. */
const maxReadChars = 16_384;

/** `isCounted`: reports list the value by itself; otherwise it is grouped under `other`. Owners always are. */
export function storedLabels(
  { owner, user, session, tags }: CallerLabels,
  isCounted: (name: string, value: string) => boolean,
): LabelColumn {
  const kept: Record<string, string> = { owner: ownerLabel(owner) };
  const keep = (name: string, text: string) => {
    const value = labelText(text);
    kept[isCounted(name, value) ? name : uncounted + name] = value;
  };
  if (user !== null) keep("user", user);
  if (session !== null) keep("session", session);
  for (const name in tags) keep(tagPrefix + labelText(name), tags[name] ?? "");
  return kept;
}

/** A label in the form in which it is stored, also for a cap of one value. PostgreSQL rejects NUL and unpaired surrogates. */
export function labelText(text: string): string {
  return maskSecrets(text.slice(0, maxReadChars).replaceAll("\0", "")).slice(0, maxChars).toWellFormed();
}
