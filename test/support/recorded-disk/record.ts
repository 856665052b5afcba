import { closeSync, openSync, writeSync } from "node:fs";

/** One thing that happened to a recorded disk, as `shim.c` writes it. */
export interface DiskEvent {
  readonly kind: "write" | "truncate" | "unlink" | "syncBegun" | "synced" | "syncFailed" | "acknowledged";
  readonly file: "database" | "log" | null;
  /** The thread that syncs; one sync at a time. */
  readonly thread: number;
  /** For `truncate`: the new size. */
  readonly offset: number;
  readonly data: Buffer;
  /** Where the next one begins in the record. */
  readonly endsAt: number;
}

const kinds: Readonly<Record<string, DiskEvent["kind"]>> = {
  W: "write",
  T: "truncate",
  U: "unlink",
  B: "syncBegun",
  E: "synced",
  F: "syncFailed",
  A: "acknowledged",
};
const files: Readonly<Record<string, DiskEvent["file"]>> = { d: "database", w: "log" };
const headBytes = 24;

/** Without an event at the end that is being written. */
export function* readRecord(record: Buffer, from = 0): Generator<DiskEvent> {
  for (let at = from; at + headBytes <= record.length; ) {
    const kind = kinds[String.fromCharCode(record.readUInt8(at))];
    if (kind === undefined) throw new Error(`the record is broken at byte ${at}`);
    const hasData = kind === "write" || kind === "acknowledged";
    const endsAt = at + headBytes + (hasData ? record.readUInt32LE(at + 16) : 0);
    if (endsAt > record.length) return;
    yield {
      kind,
      file: files[String.fromCharCode(record.readUInt8(at + 1))] ?? null,
      thread: record.readUInt32LE(at + 4),
      offset: Number(record.readBigUInt64LE(at + 8)),
      data: record.subarray(at + headBytes, endsAt),
      endsAt,
    };
    at = endsAt;
  }
}

/** For the recorded program: notes in the same record what it has acknowledged. */
export function openAcknowledgements(path: string): { add(what: string): void; close(): void } {
  const { add, close } = openRecord(path);
  return { add: (what) => add("A", "", 0, Buffer.from(what)), close };
}

/** For the recorded program: notes what the shim does not see. */
export function openRecord(path: string) {
  const descriptor = openSync(path, "a");
  return {
    add(kind: string, file: string, offset: number, data: Uint8Array) {
      const head = Buffer.alloc(headBytes);
      head.write(kind + file);
      head.writeBigUInt64LE(BigInt(offset), 8);
      head.writeUInt32LE(data.length, 16);
      // One call, so that records of several processes do not mix.
      writeSync(descriptor, Buffer.concat([head, data]));
    },
    close: () => closeSync(descriptor),
  };
}
