import { expect, test } from "bun:test";
import { SocketTransfer } from "../../src/wire/socket-transfer.ts";
import type { Head, Receiver } from "../../src/wire/transfer.ts";

test("a request's body is not kept once its answer has begun", () => {
  const heads: Head[] = [];
  const receiver: Receiver = {
    connected() {},
    answered: (head) => void heads.push(head),
    received() {},
    ended() {},
    failed() {},
  };
  const transfer = new SocketTransfer("", Buffer.from("a long prompt"), receiver, "caller", () => {});
  const head: Head = { status: 200, get: () => null };
  transfer.answered(head);
  expect(heads).toEqual([head]);
  expect(transfer.body).toBe("");
});
