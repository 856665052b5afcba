import { describe, expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, exchange, HeldDials, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

describe("callers", () => {
  test("do not share a kept connection, and each finds its own again", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith(`${peer.number}`)));
    const client = clientOf(server);
    for (let round = 0; round < 3; round++) {
      for (const [number, caller] of ["ada", "bob", "eve"].entries()) {
        expect((await exchange(client, "{}", caller)).text).toBe(`${number}`);
      }
    }
    expect(server.peers).toHaveLength(3);
  });

  test("never get what a server sends after another's answer, however late it arrives", async () => {
    for (const lateMs of [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 5]) {
      using server = new TestServer((peer, { body }) => {
        const word = Buffer.from(body).toString();
        peer.write(answerWith(`for ${word}`));
        if (word === "ada") setTimeout(() => void peer.write(answerWith("for ada only")), lateMs);
      });
      const client = clientOf(server);
      expect((await exchange(client, "ada", "ada")).text).toBe("for ada");
      for (let count = 0; count < 5; count++) {
        expect((await exchange(client, "bob", "bob")).text).toBe("for bob");
      }
    }
  });

  test("that wait for connections are not given one that has served another", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const client = clientOf(server);
    const first = post(client, "{}", "ada");
    await waitFor(() => waiting.length === 1, "the first request");
    const second = post(client, "{}", "bob");
    await waiting[0]?.write(answerWith("ok"));
    await first.recorder.over;
    await waitFor(() => waiting.length === 2, "the second request");
    expect(waiting[1]).not.toBe(waiting[0]);
    await waiting[1]?.write(answerWith("ok"));
    await second.recorder.over;
  });

  test("may have a connection that was made and then not needed by another", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    const first = post(client, "{}", "ada");
    dials.succeed(0);
    await waitFor(() => waiting.length === 1, "the first request");
    const second = post(client, "{}", "ada");
    await waiting[0]?.write(answerWith("ok"));
    await first.recorder.over;
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    dials.succeed(1);
    await waitFor(() => server.peers.length === 2, "the connection that was made for it");
    await dials.held[1]?.settle.promise;
    post(client, "{}", "bob");
    await waitFor(() => waiting.length === 3, "another caller's request");
    expect(waiting[2]).toBe(server.peer(1));
    expect(dials.held).toHaveLength(2);
    second.transfer.cancel();
  });
});

describe("idle connections", () => {
  test("of all callers together are bounded: the caller idle for longest loses one", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server, { maxIdle: 3 });
    for (const caller of ["a", "b", "c", "d", "e"]) await exchange(client, "{}", caller);
    await waitFor(() => server.peers.filter(({ isGone }) => isGone).length === 2, "two connections to go");
    expect(server.peers.map(({ isGone }) => isGone)).toEqual([true, true, false, false, false]);
    for (const caller of ["c", "d", "e"]) await exchange(client, "{}", caller);
    expect(server.peers).toHaveLength(5);
    await exchange(client, "{}", "a");
    expect(server.peers).toHaveLength(6);
  });

  test("of one caller are bounded as well, and none of those in use is dropped", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const client = clientOf(server, { maxIdle: 2 });
    const sent = Array.from({ length: 5 }, () => post(client));
    await waitFor(() => waiting.length === 5, "five requests");
    for (const peer of waiting.splice(0)) await peer.write(answerWith("ok"));
    for (const { recorder } of sent) expect(await recorder.over).toBe("ended");
    await waitFor(() => server.peers.filter(({ isGone }) => isGone).length === 3, "three connections to go");
    const again = [post(client), post(client)];
    await waitFor(() => waiting.length === 2, "two requests");
    for (const peer of waiting) await peer.write(answerWith("ok"));
    for (const { recorder } of again) expect(await recorder.over).toBe("ended");
    expect(server.peers).toHaveLength(5);
  });
});
