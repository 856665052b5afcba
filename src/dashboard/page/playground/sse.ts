/** Cuts a text stream into server-sent events; what is incomplete waits for the next piece. */
export class EventCutter {
  #rest = "";

  /** Whole events, each as its raw lines. */
  push(text: string): string[] {
    const parts = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = parts.pop() ?? "";
    return parts.filter((part) => part !== "");
  }
}

export function dataOf(event: string): string {
  const lines = event.split("\n").filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(line.startsWith("data: ") ? 6 : 5)).join("\n");
}
