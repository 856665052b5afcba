import type { Growing } from "./growing.ts";

/** A text that an event has appended, and nothing else. */
export interface AppendedText {
  readonly target: Growing;
  readonly name: string;
  readonly text: string;
}

const maxLooseChars = 512;

/** Anything else is not a text as it stands. */
const needsParsing = /["\\]/;

/** Recognises events that are the same as one before but for their text, which is then appended without parsing them. */
export class RepeatedEvent {
  readonly #before: string;
  readonly #behind: string;
  readonly #appended: AppendedText;
  #loose = 0;

  private constructor(before: string, behind: string, appended: AppendedText) {
    this.#before = before;
    this.#behind = behind;
    this.#appended = appended;
  }

  /** Null if it cannot be told where the text is. */
  static of(data: string, appended: AppendedText): RepeatedEvent | null {
    const written = JSON.stringify(appended.text);
    const at = data.indexOf(written);
    if (at === -1 || data.indexOf(written, at + 1) !== -1) return null;
    const end = at + written.length - 1;
    return new RepeatedEvent(data.slice(0, at + 1), data.slice(end), appended);
  }

  /** How much text it has; null if the event is another, or has to be parsed. */
  take(data: string): number | null {
    const { target, name } = this.#appended;
    const end = data.length - this.#behind.length;
    if (end < this.#before.length || !data.startsWith(this.#before) || !data.endsWith(this.#behind))
      return null;
    const text = data.slice(this.#before.length, end);
    const known = target[name];
    if (needsParsing.test(text) || typeof known !== "string") return null;
    const longer = known + text;
    this.#loose += text.length;
    if (this.#loose > maxLooseChars) {
      // Flattens it in place: a slice of an event keeps all of that event in memory.
      Buffer.byteLength(longer);
      this.#loose = 0;
    }
    target[name] = longer;
    return text.length;
  }
}
