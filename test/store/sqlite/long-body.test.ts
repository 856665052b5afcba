import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { Query } from "../../../src/store/query.ts";
import { notDurable, sqliteQueries } from "../../../src/store/sqlite/queries.ts";
import { wholeBody } from "../../../src/store/tables/long-body.ts";

const partBytes = 256 * 1024;
const parts = Array.from({ length: 40 }, (_, place) => Buffer.alloc(partBytes, place + 1));
const row = { recordingId: "rec_1", parts: parts.length, body: Buffer.from("the end") };

/** Calls `afterRead` with the bytes of every statement's rows. */
function watchedRead(afterRead: (bytes: number, database: Database) => void): Query {
  const database = new Database(":memory:");
  database.run("CREATE TABLE response_parts (recording_id TEXT, sequence INTEGER, body BLOB)");
  const insert = database.query("INSERT INTO response_parts VALUES ('rec_1', ?, ?)");
  for (const [sequence, body] of parts.entries()) insert.run(sequence, body);
  const { read } = sqliteQueries(database, 1000, notDurable);
  return async <Row>(...asked: Parameters<Query>) => {
    const rows = await read<Row & { body?: Uint8Array }>(...asked);
    afterRead(
      rows.reduce((sum, { body }) => sum + (body?.length ?? 0), 0),
      database,
    );
    return rows;
  };
}

test("a body of many parts is read a megabyte at a time", async () => {
  const sizes: number[] = [];
  const whole = await wholeBody(
    watchedRead((bytes) => void sizes.push(bytes)),
    row,
  );
  expect(Buffer.from(whole ?? []).equals(Buffer.concat([...parts, row.body]))).toBe(true);
  expect(Math.max(...sizes)).toBe(4 * partBytes);
});

test("a body that is deleted while it is read is none", async () => {
  const deleting = watchedRead((bytes, database) => {
    if (bytes > 0) database.run("DELETE FROM response_parts");
  });
  expect(await wholeBody(deleting, row)).toBeNull();
});
