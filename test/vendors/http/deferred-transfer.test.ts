import { expect, test } from "bun:test";
import { CredentialUnavailable } from "../../../src/vendors/credentials/credential.ts";
import { DeferredTransfer } from "../../../src/vendors/http/deferred-transfer.ts";
import type { Transfer } from "../../../src/wire/transfer.ts";

/** A transfer whose request waits, and everything that happens to it. */
function deferred() {
  const seen: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const inner: Transfer = {
    isConnected: true,
    isSent: true,
    pause: () => void seen.push("pause"),
    resume: () => void seen.push("resume"),
    cancel: () => void seen.push("cancel"),
  };
  const receiver = {
    connected: () => void seen.push("connected"),
    answered: () => {},
    received: () => {},
    ended: () => {},
    failed: (cause: unknown) => void seen.push(`failed: ${(cause as Error).message}`),
  };
  const send = () => {
    seen.push("sent");
    return inner;
  };
  return { transfer: new DeferredTransfer(waiting.promise, send, receiver), waiting, seen };
}

test("a request that waits counts as not connected, and is sent once it need not wait any more", async () => {
  const { transfer, waiting, seen } = deferred();
  transfer.pause();
  expect(transfer.isConnected).toBe(false);
  expect(transfer.isSent).toBe(false);
  waiting.resolve();
  await Bun.sleep(0);
  expect(seen).toEqual(["sent", "pause", "connected"]);
  expect(transfer.isConnected).toBe(true);
  expect(transfer.isSent).toBe(true);
  transfer.resume();
  transfer.cancel();
  expect(seen.slice(3)).toEqual(["resume", "cancel"]);
});

test("one whose client has left is never sent, and hears nothing more", async () => {
  for (const isGranted of [true, false]) {
    const { transfer, waiting, seen } = deferred();
    transfer.cancel();
    if (isGranted) waiting.resolve();
    else waiting.reject(new CredentialUnavailable("none"));
    await Bun.sleep(0);
    expect(seen).toEqual([]);
  }
});

test("one that cannot have a credential fails, and nothing is sent (K05)", async () => {
  const { transfer, waiting, seen } = deferred();
  waiting.reject(new CredentialUnavailable("the token host is down"));
  await Bun.sleep(0);
  expect(seen).toEqual(["failed: the token host is down"]);
  expect(transfer.isConnected).toBe(false);
  expect(transfer.isSent).toBe(false);
});
