import { describe, expect, test } from "bun:test";
import type { Connection } from "../../src/wire/connection.ts";
import { dialByBun } from "../../src/wire/http-client.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, post, type Sent } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

/** Enough for pieces of several answers to come in one turn of the event loop, and for more than are read in one. */
const crowd = 150;
const rounds = 3;

/** Sends a crowd's requests, and lets all of them be answered in one turn of the server. */
async function respondTogether(
  server: TestServer,
  waiting: Peer[],
  answer: (peer: Peer, number: number) => void,
): Promise<Sent[]> {
  const client = clientOf(server);
  let sent: Sent[] = [];
  for (let round = 0; round < rounds; round += 1) {
    waiting.length = 0;
    sent = Array.from({ length: crowd }, (_, number) => post(client, `${number}`));
    await waitFor(() => waiting.length === crowd, "all requests");
    for (const peer of [...waiting]) answer(peer, Number(Buffer.from(peer.requests.at(-1)?.body ?? "")));
    await Promise.all(sent.map(({ recorder }) => recorder.over));
  }
  return sent;
}

describe("answers to a crowd, which come in one turn of the event loop", () => {
  test("are each given to the request that they answer", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const sent = await respondTogether(server, waiting, (peer, number) => {
      void peer.write(answerWith(`answer ${number}`));
    });
    expect(sent.map(({ recorder }) => recorder.text)).toEqual(sent.map((_, number) => `answer ${number}`));
    // A connection that was read with a crowd is used again one turn later, so the second round has other ones.
    expect(server.peers.length).toBeLessThanOrEqual(2 * crowd);
  });

  test("are whole if every server closes its connection right behind them", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const sent = await respondTogether(server, waiting, (peer, number) => {
      void peer.write(answerWith(`answer ${number}`));
      peer.end();
    });
    expect(sent.map(({ recorder }) => recorder.text)).toEqual(sent.map((_, number) => `answer ${number}`));
    expect(sent.every(({ recorder }) => recorder.events.at(-1) === "ended")).toBe(true);
  });

  test("are whole if only the close of the connection ends them", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const sent = await respondTogether(server, waiting, (peer, number) => {
      void peer.write(`HTTP/1.1 200 OK\r\n\r\nanswer ${number}`);
      peer.end();
    });
    expect(sent.map(({ recorder }) => recorder.text)).toEqual(sent.map((_, number) => `answer ${number}`));
  });

  test("are not what an idle connection was sent unasked just before it was used", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    await respondTogether(server, waiting, (peer) => void peer.write(answerWith("warm")));
    waiting.length = 0;
    const connections: Connection[] = [];
    const client = clientOf(server, {
      dial: (address, connection) => {
        connections.push(connection);
        return dialByBun(address, connection);
      },
    });
    const first = post(client);
    await waitFor(() => waiting.length === 1, "the first request");
    await waiting[0]?.write(answerWith("ok"));
    expect(await first.recorder.over).toBe("ended");
    connections[0]?.arrived(Buffer.from(answerWith("unasked")));
    const next = post(client);
    await waitFor(() => waiting.length === 2, "the next request");
    await waiting[1]?.write(answerWith("asked"));
    expect(await next.recorder.over).toBe("ended");
    expect(next.recorder.text).toBe("asked");
    expect(connections).toHaveLength(2);
  });

  test("do not reach a request that was cancelled in the same turn", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const client = clientOf(server);
    await respondTogether(server, waiting, (peer) => void peer.write(answerWith("warm")));
    waiting.length = 0;
    const sent = Array.from({ length: crowd }, () => post(client));
    const heard: number[] = [];
    for (const [number, { recorder }] of sent.entries()) {
      recorder.onHead = () => {
        heard.push(number);
        for (const other of sent) if (other.recorder !== recorder) other.transfer.cancel();
      };
    }
    await waitFor(() => waiting.length === crowd, "all requests");
    for (const peer of [...waiting]) void peer.write(answerWith("ok"));
    await waitFor(() => heard.length > 0, "the first answer");
    const first = sent[heard[0] ?? 0];
    expect(await first?.recorder.over).toBe("ended");
    await waitFor(
      () => server.peers.filter(({ isGone }) => isGone).length === crowd - 1,
      "the others to close",
    );
    expect(heard).toHaveLength(1);
  });
});
