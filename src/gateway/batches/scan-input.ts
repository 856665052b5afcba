import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { BatchLine } from "../../store/store.ts";
import type { LineProblem } from "./scan-lines.ts";

/** Finds the requests of an input while it is read piece by piece. */
export interface InputScanner {
  readonly problems: readonly LineProblem[];
  readonly count: number;
  push(piece: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** The requests found so far. Who stores them takes them out. */
  readonly found: BatchLine[];
}

/** Takes a few milliseconds, whatever is in it. */
const pieceBytes = 32 * 1024;
/** Lines that are written at once, which takes a few milliseconds. */
const linesPerWrite = 200;

/** Reads an input to its end, a piece in each iteration of the event loop. `keep` stores what was found. */
export async function scanInput(
  input: AsyncIterable<Uint8Array>,
  scanner: InputScanner,
  keep: (found: readonly BatchLine[]) => Promise<void>,
): Promise<void> {
  const keepIf = async (least: number) => {
    while (scanner.found.length >= least) {
      const found = scanner.found.splice(0, linesPerWrite);
      if (scanner.problems.length === 0) await keep(found);
    }
  };
  for await (const bytes of input) {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await bodyPacer.wait();
      await scanner.push(bytes.subarray(at, at + pieceBytes));
      await keepIf(linesPerWrite);
    }
  }
  await scanner.end();
  await keepIf(1);
}
