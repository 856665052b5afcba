import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { BatchLine } from "../../store/store.ts";

/** What is wrong with a line of an input, in OpenAI's terms. `line` begins with 1. */
export interface LineProblem {
  readonly code: string;
  readonly message: string;
  readonly line: number | null;
  readonly param: string | null;
}

/** Finds the requests of an input while it is read piece by piece. */
export interface InputScanner {
  readonly problems: readonly LineProblem[];
  readonly count: number;
  push(piece: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

/** What becomes of the requests of an input. */
export interface LineSink {
  /** Reserves memory for so many more bytes of a line. Throws if there is none. */
  takeMemory(bytes: number): void;
  /** Called for each request in order, unless there are problems. `body` is valid until it resolves. */
  keep(line: BatchLine, body: Uint8Array): Promise<void>;
}

/** Takes a few milliseconds, whatever is in it. */
const pieceBytes = 32 * 1024;

/** Reads an input to its end, a piece in each iteration of the event loop. */
export async function scanInput(input: AsyncIterable<Uint8Array>, scanner: InputScanner): Promise<void> {
  for await (const bytes of input) {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await bodyPacer.wait();
      await scanner.push(bytes.subarray(at, at + pieceBytes));
    }
  }
  await scanner.end();
}
