import { expect } from "bun:test";
import { ResponseReader } from "../../src/wire/response-reader.ts";
import type { Head } from "../../src/wire/transfer.ts";

/** What a listener received, and the state of the reader afterwards. */
export interface ReadResponse {
  readonly statuses: readonly number[];
  readonly body: string;
  readonly isComplete: boolean;
  readonly isReusable: boolean;
  readonly endsWithConnection: boolean;
}

/** Reads an answer that arrives in these pieces. */
export function readPieces(
  pieces: readonly Buffer[],
  reader = new ResponseReader(),
): ReadResponse & { head: Head | null } {
  const statuses: number[] = [];
  let body = "";
  let head: Head | null = null;
  reader.reset();
  const listener = {
    answered(it: Head) {
      head = it;
      statuses.push(it.status);
    },
    received(bytes: Uint8Array) {
      expect(statuses).toHaveLength(1);
      expect(bytes.length).toBeGreaterThan(0);
      body += Buffer.from(bytes).toString("latin1");
    },
  };
  for (const piece of pieces) if (piece.length > 0) reader.read(piece, listener);
  const { isComplete, isReusable, endsWithConnection } = reader;
  return { statuses, body, isComplete, isReusable, endsWithConnection, head };
}
