/** Sluice's own keys and admin tokens, whose hashes alone are known. */
const ownSecrets = /slua?_[0-9A-Za-z]{30,}/g;
const ownStarts = ["slu_", "slua_"];

/** Finds and removes secrets. */
export class Redactor {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    // The longest first, since one may be part of another.
    this.#secrets = secrets.toSorted((one, other) => other.length - one.length);
  }

  /** Whether a text may hold one. In JSON a secret may also be written by escapes, which this does not see. */
  isSuspect(text: string): boolean {
    return (
      ownStarts.some((start) => text.includes(start)) || this.#secrets.some((each) => text.includes(each))
    );
  }

  readonly clean = (text: string): string => {
    if (!this.isSuspect(text)) return text;
    let rest = text.replace(ownSecrets, "[secret]");
    for (const secret of this.#secrets) rest = rest.replaceAll(secret, "[secret]");
    return rest;
  };
}
