import type { RepeatedRun } from "./repeated-run.ts";

/**
 * A growing string is a rope, and a slice of the provider's text keeps all of that text alive: a word costs the memory
 * of its whole event. So the rope is flattened now and then; an answer of 24,000 characters then takes 53 KB instead
 * of 1.3 MB.
 */
const maxLooseChars = 512;

/** Events that are not read keep the memory of the whole reads that they came in. */
const maxUnreadChars = 64 * 1024;
/** What a read takes besides its characters. */
const charsPerRead = 128;

/** Text that a stream has produced and that is not counted yet. */
export class ProducedText {
  #text = "";
  #flatChars = 0;
  /** Events after that text. */
  #unread: RepeatedRun[] = [];
  /** The length of their text, and of the reads that have them. */
  #unreadChars = 0;
  #heldChars = 0;

  get length(): number {
    return this.#text.length + this.#unreadChars;
  }

  add(text: string): void {
    if (text === "") return;
    if (this.#unread.length > 0) this.#readRuns();
    this.#text += text;
    if (this.#looseChars > maxLooseChars) this.#flatten();
  }

  /** Adds the text of events, which is read when it is needed. */
  addRun(run: RepeatedRun): void {
    this.#unread.push(run);
    this.#unreadChars += run.chars;
    this.#heldChars += run.events.length + charsPerRead;
    if (this.#heldChars > maxUnreadChars) this.#readRuns();
  }

  /** A few characters of several reads keep much alive. But one read may have thousands of runs, with other text in between. */
  #readRuns(): void {
    const areSeveral = this.#unread.length > 1;
    for (const { text } of this.#unread) this.#text += text;
    this.#unread = [];
    this.#unreadChars = this.#heldChars = 0;
    if (areSeveral || this.#looseChars > maxLooseChars) this.#flatten();
  }

  get #looseChars(): number {
    return this.#text.length - this.#flatChars;
  }

  /** Returns the text since the last call. */
  take(): string {
    if (this.#unread.length > 0) this.#readRuns();
    const text = this.#text;
    this.#text = "";
    this.#flatChars = 0;
    return text;
  }

  /** Asking for its length in UTF-8 makes the runtime flatten a string in place. All of it is copied. */
  #flatten(): void {
    Buffer.byteLength(this.#text);
    this.#flatChars = this.#text.length;
  }
}
