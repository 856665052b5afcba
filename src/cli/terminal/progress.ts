import type { Terminal } from "./terminal.ts";

export interface Progress {
  show(text: string): void;
  /** Takes the line away again. */
  end(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const patienceMs = 1000;
const frameMs = 100;

/** One line on stderr that lives on a terminal only, and only when the work takes longer than a second. */
export function startProgress(
  terminal: Pick<Terminal, "noteColumns" | "noteStyle">,
  draw: (text: string) => void = (text) => void process.stderr.write(text),
): Progress {
  if (terminal.noteColumns === null) return { show: () => {}, end: () => {} };
  const startedAtMs = performance.now();
  let drawnAtMs = startedAtMs + patienceMs - frameMs;
  let shown = 0;
  return {
    show(text) {
      const nowMs = performance.now();
      if (nowMs - drawnAtMs < frameMs) return;
      drawnAtMs = nowMs;
      draw(`\r\u001b[K${terminal.noteStyle.accent(frames[shown % frames.length] ?? "")} ${text}`);
      shown += 1;
    },
    end() {
      if (shown > 0) draw("\r\u001b[K");
    },
  };
}
