import type { SseFrame } from "../../dialects/sse/sse.ts";
import type { Growing } from "./growing.ts";

/** A text that an event has appended, and nothing else. */
export interface AppendedText {
  readonly target: Growing;
  readonly name: string;
  readonly text: string;
}

/** A slice of the stream keeps all of its text in memory, so what was appended is flattened now and then. */
const maxLooseChars = 512;
const frameEnd = "\n\n";

/**
 * Reads events that are the same as one before but for their text, which is appended without parsing them: if one string replaces
 * another in a JSON text and all other characters are equal, all other values are equal too.
 */
export class RepeatedEvent {
  /** Up to the opening quote of the text, and from its closing quote to the end of the frame. */
  readonly #before: string;
  readonly #behind: string;
  readonly #appended: AppendedText;
  #loose = 0;
  /** The length of what was appended. */
  appendedChars = 0;

  private constructor(before: string, behind: string, appended: AppendedText) {
    this.#before = before;
    this.#behind = behind;
    this.#appended = appended;
  }

  /** Null if it cannot be told where the text is. */
  static of({ event, data }: SseFrame, appended: AppendedText): RepeatedEvent | null {
    const written = JSON.stringify(appended.text);
    const at = data.indexOf(written);
    if (at === -1 || data.indexOf(written, at + 1) !== -1) return null;
    const head = event === "" ? "data: " : `event: ${event}\ndata: `;
    const behind = data.slice(at + written.length - 1);
    return new RepeatedEvent(head + data.slice(0, at + 1), behind + frameEnd, appended);
  }

  /** Takes the events that match from a place on; returns the place of the first that does not. */
  run(text: string, from: number): number {
    let at = from;
    while (text.startsWith(this.#before, at)) {
      const start = at + this.#before.length;
      const end = text.indexOf('"', start);
      if (end === -1 || !text.startsWith(this.#behind, end)) break;
      const appended = text.slice(start, end);
      // An escaped quote ends nothing, and other escapes stand for something else.
      if (appended.includes("\\")) break;
      this.#append(appended);
      at = end + this.#behind.length;
    }
    return at;
  }

  takeWritten(): string {
    return "";
  }

  #append(text: string): void {
    const { target, name } = this.#appended;
    const longer = String(target[name] ?? "") + text;
    this.#loose += text.length;
    this.appendedChars += text.length;
    target[name] = longer;
    if (this.#loose <= maxLooseChars) return;
    // Asking for its length in UTF-8 makes the runtime flatten a string in place.
    Buffer.byteLength(longer);
    this.#loose = 0;
  }
}
