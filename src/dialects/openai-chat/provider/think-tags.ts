const open = "<think>";
const close = "</think>";

export interface SplitText {
  readonly reasoning: string;
  readonly text: string;
}

/**
 * Servers of open models that do not parse their model's template leave its reasoning in the content, between `<think>`
 * and `</think>`. Only a tag at the very beginning counts: later ones are part of the text.
 */
export class ThinkTagSplitter {
  #state: "beginning" | "thinking" | "after" | "plain" = "beginning";
  #held = "";
  /** Whether the text is only a part of the content. */
  foundTag = false;

  push(fragment: string): SplitText {
    if (this.#state === "plain" || fragment === "") return { reasoning: "", text: fragment };
    this.#held += fragment;
    return this.#step();
  }

  /** Text that may be the start of a tag. */
  end(): SplitText {
    if (this.#state !== "thinking") return this.#plain();
    const reasoning = this.#held;
    this.#held = "";
    return { reasoning, text: "" };
  }

  #step(): SplitText {
    if (this.#state === "beginning") {
      const seen = this.#held.trimStart();
      if (open.startsWith(seen)) return { reasoning: "", text: "" };
      if (!seen.startsWith(open)) return this.#plain();
      this.#state = "thinking";
      this.foundTag = true;
      this.#held = seen.slice(open.length);
    }
    return this.#state === "thinking" ? this.#think() : this.#after("");
  }

  /** Everything up to the closing tag, except for a suffix that may be the start of that tag. */
  #think(): SplitText {
    const end = this.#held.indexOf(close);
    if (end !== -1) {
      const reasoning = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + close.length);
      this.#state = "after";
      return this.#after(reasoning);
    }
    const safe = this.#held.length - overlap(this.#held);
    const reasoning = this.#held.slice(0, safe);
    this.#held = this.#held.slice(safe);
    return { reasoning, text: "" };
  }

  /** The blank lines between the reasoning and the response belong to neither. */
  #after(reasoning: string): SplitText {
    const text = this.#held.trimStart();
    this.#held = "";
    if (text !== "") this.#state = "plain";
    return { reasoning, text };
  }

  #plain(): SplitText {
    this.#state = "plain";
    const text = this.#held;
    this.#held = "";
    return { reasoning: "", text };
  }
}

/** Number of characters at the end that may be the start of the closing tag. */
function overlap(text: string): number {
  for (let length = Math.min(close.length - 1, text.length); length > 0; length -= 1) {
    if (close.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
