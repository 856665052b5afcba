import { describe, expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, everythingArrived, exchange, post, type Sent } from "./recorder.ts";
import { answerWith, TestServer } from "./server.ts";

const megabyte = 1024 * 1024;

/** Sends the head, and then chunks without end. */
function chatty(): TestServer {
  return new TestServer(async (peer) => {
    await peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    while (!peer.isGone) {
      await peer.write("5\r\nhello\r\n");
      await Bun.sleep(1);
    }
  });
}

/** The receiver gets no more calls, whatever still arrives. */
async function expectSilence({ recorder }: Sent): Promise<void> {
  const { length } = recorder.events;
  const { receivedBytes } = recorder;
  await everythingArrived();
  expect(recorder.events).toHaveLength(length);
  expect(recorder.receivedBytes).toBe(receivedBytes);
}

describe("a request that is cancelled", () => {
  test("while it waits for the head: the server sees the end, the receiver gets no calls", async () => {
    using server = new TestServer(() => {});
    const sent = post(clientOf(server));
    await waitFor(() => server.requests.length === 1, "the request");
    sent.transfer.cancel();
    await server.peer(0).gone;
    await expectSilence(sent);
    expect(sent.recorder.events).toEqual(["connected"]);
  });

  test("within the body", async () => {
    using server = chatty();
    const sent = post(clientOf(server));
    await waitFor(() => sent.recorder.receivedBytes > 20, "some of the body");
    sent.transfer.cancel();
    sent.transfer.cancel();
    await server.peer(0).gone;
    await expectSilence(sent);
    expect(sent.recorder.events).toEqual(["connected", "answered 200"]);
  });

  test("while it is being sent", async () => {
    using server = new TestServer(() => {}, { accepted: (peer) => peer.pause() });
    const sent = post(clientOf(server), Buffer.alloc(32 * megabyte));
    await waitFor(() => sent.transfer.isConnected, "the connection");
    sent.transfer.cancel();
    server.peer(0).resume();
    await server.peer(0).gone;
    await expectSilence(sent);
    expect(server.requests).toEqual([]);
  });

  for (const [when, listen] of [
    [
      "the connection",
      (sent: Sent) => {
        sent.recorder.onConnected = () => sent.transfer.cancel();
      },
    ],
    [
      "the head",
      (sent: Sent) => {
        sent.recorder.onHead = () => sent.transfer.cancel();
      },
    ],
    [
      "a piece",
      (sent: Sent) => {
        sent.recorder.onPiece = () => sent.transfer.cancel();
      },
    ],
  ] as const) {
    test(`by its receiver at ${when}`, async () => {
      using server = new TestServer((peer) => void peer.write(answerWith("ok")));
      const client = clientOf(server);
      const sent = post(client);
      listen(sent);
      await waitFor(() => server.peers[0]?.isGone === true, "the end of the connection");
      await expectSilence(sent);
      expect(sent.recorder.events).not.toContain("ended");
      expect((await exchange(client)).text).toBe("ok");
      expect(server.peers).toHaveLength(2);
    });
  }

  test("by a receiver while a malformed answer is being read", async () => {
    using server = new TestServer(
      (peer) => void peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx"),
    );
    const sent = post(clientOf(server));
    sent.recorder.onHead = () => sent.transfer.cancel();
    await waitFor(() => server.peers[0]?.isGone === true, "the end of the connection");
    await expectSilence(sent);
    expect(sent.recorder.events).toEqual(["connected", "answered 200"]);
  });

  test("when it is over already, leaves its connection to others", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    const { transfer, recorder } = post(client);
    await recorder.over;
    const next = post(client);
    transfer.cancel();
    transfer.pause();
    expect(await next.recorder.over).toBe("ended");
    expect(server.peers).toHaveLength(1);
  });

  test("and others at the same time are not touched", async () => {
    using server = chatty();
    const client = clientOf(server);
    const sent = [post(client), post(client), post(client)];
    await waitFor(() => sent.every(({ recorder }) => recorder.receivedBytes > 0), "three streams");
    sent[1]?.transfer.cancel();
    const before = sent.map(({ recorder }) => recorder.receivedBytes);
    await waitFor(() => (sent[0]?.recorder.receivedBytes ?? 0) > (before[0] ?? 0) + 20, "the first to go on");
    await waitFor(() => (sent[2]?.recorder.receivedBytes ?? 0) > (before[2] ?? 0) + 20, "the third to go on");
    expect(sent[1]?.recorder.receivedBytes).toBe(before[1] ?? -1);
    for (const { transfer } of sent) transfer.cancel();
    await Promise.all(server.peers.map((peer) => peer.gone));
  });
});
