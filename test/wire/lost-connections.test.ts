import { describe, expect, test } from "bun:test";
import { type Dial, dialByBun } from "../../src/wire/http-client.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const chunkedHead = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

describe("a connection that is lost", () => {
  const ends: readonly (readonly [how: string, end: (peer: Peer) => void])[] = [
    ["closes", (peer) => peer.end()],
    ["resets", (peer) => peer.reset()],
  ];
  const places: readonly (readonly [where: string, said: string, heard: readonly string[]])[] = [
    ["before the head", "", []],
    ["within the head", "HTTP/1.1 200 OK\r\ncontent-ty", []],
    ["after an interim answer", "HTTP/1.1 103 Early Hints\r\n\r\n", []],
    ["before the body", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", ["answered 200"]],
    ["within a body with a length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", ["answered 200"]],
    ["within a chunk", `${chunkedHead}5\r\nhel`, ["answered 200"]],
    ["between chunks", `${chunkedHead}5\r\nhello\r\n`, ["answered 200"]],
    ["within the last chunk", `${chunkedHead}5\r\nhello\r\n0\r\n`, ["answered 200"]],
  ];
  for (const [how, end] of ends) {
    for (const [where, said, events] of places) {
      test(`the server ${how} ${where}: the request fails, and is not sent again`, async () => {
        using server = new TestServer(async (peer) => {
          await peer.say(said);
          await Bun.sleep(10);
          end(peer);
        });
        const heard = await exchange(clientOf(server));
        expect(heard.events).toEqual(["connected", ...events, "failed ECONNRESET"]);
        await Bun.sleep(20);
        expect(server.requests).toHaveLength(1);
      });
    }
  }

  test("an answer that lasts until the end ends well when the server closes", async () => {
    using server = new TestServer(async (peer) => {
      await peer.say("HTTP/1.1 200 OK\r\n\r\nhello");
      peer.end();
    });
    const heard = await exchange(clientOf(server));
    expect(heard.events).toEqual(["connected", "answered 200", "ended"]);
    expect(heard.text).toBe("hello");
  });

  test("and badly when the server resets: nobody knows what is missing", async () => {
    using server = new TestServer(async (peer) => {
      await peer.say("HTTP/1.1 200 OK\r\n\r\nhello");
      await Bun.sleep(10);
      peer.reset();
    });
    const heard = await exchange(clientOf(server));
    expect(heard.events).toEqual(["connected", "answered 200", "failed ECONNRESET"]);
  });

  test("an answer that is not HTTP fails the request and ends the connection", async () => {
    using server = new TestServer((peer) => void peer.say("SSH-2.0-OpenSSH_9.6\r\n\r\n"));
    const heard = await exchange(clientOf(server));
    expect(heard.events).toEqual(["connected", "failed EPROTO"]);
    await server.peer(0).gone;
  });
});

describe("a kept connection that turns out to be closed", () => {
  const ends: readonly (readonly [how: string, end: (peer: Peer) => void])[] = [
    ["closes", (peer) => peer.end()],
    ["resets", (peer) => peer.reset()],
  ];
  for (const [how, end] of ends) {
    test(`the server ${how} it when the next request comes: that is sent again, once, on a new one`, async () => {
      using server = new TestServer((peer, { body }) => {
        if (peer.number === 0 && peer.requests.length === 2) end(peer);
        else peer.say(answerWith(`got ${Buffer.from(body)}`));
      });
      const client = clientOf(server);
      await exchange(client, "one");
      const heard = await exchange(client, "two");
      expect(heard.events).toEqual(["connected", "answered 200", "ended"]);
      expect(heard.text).toBe("got two");
      expect(server.peers.map((peer) => peer.requests.length)).toEqual([2, 1]);
    });

    test(`the server ${how} it while the request is being put on it: nothing is lost`, async () => {
      using server = new TestServer((peer, { body }) => {
        peer.say(answerWith(`got ${Buffer.from(body)}`));
        setTimeout(() => end(peer), 0);
      });
      const client = clientOf(server);
      for (let number = 0; number < 100; number++) {
        const heard = await exchange(client, String(number));
        expect(heard.text).toBe(`got ${number}`);
      }
    });

    test(`the server ${how} it after the first byte of an answer: it is not sent again`, async () => {
      using server = new TestServer(async (peer) => {
        if (peer.requests.length === 1) return peer.say(answerWith("ok"));
        await peer.say("H");
        await Bun.sleep(10);
        end(peer);
      });
      const client = clientOf(server);
      await exchange(client);
      expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
      await Bun.sleep(20);
      expect(server.requests).toHaveLength(2);
    });
  }

  test("that was lost after it had held the request for a while: it is not sent again", async () => {
    using server = new TestServer(async (peer) => {
      if (peer.requests.length === 1) return peer.say(answerWith("ok"));
      await Bun.sleep(1100);
      peer.reset();
    });
    const client = clientOf(server);
    await exchange(client);
    expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
    await Bun.sleep(20);
    expect(server.requests).toHaveLength(2);
  });

  test("and the new one as well: the request fails, and is not sent a third time", async () => {
    using server = new TestServer((peer) => {
      if (peer.number === 0 && peer.requests.length === 1) peer.say(answerWith("ok"));
      else peer.reset();
    });
    const client = clientOf(server);
    await exchange(client);
    expect((await exchange(client)).events).toEqual(["connected", "failed ECONNRESET"]);
    await Bun.sleep(20);
    expect(server.requests).toHaveLength(3);
  });

  test("is not made up for by another kept one, which may be as old", async () => {
    const released = Promise.withResolvers<void>();
    let dials = 0;
    // The third connection and those after it take their time, so that a kept one becomes free before.
    const dial: Dial = async (target, connection) => {
      dials += 1;
      if (dials >= 3) await released.promise;
      return dialByBun(target, connection);
    };
    const held: Peer[] = [];
    using server = new TestServer((peer, { body }) => {
      if (Buffer.from(body).toString() !== "poison") held.push(peer);
      else if (peer.number < 2) peer.reset();
      else peer.say(answerWith("survived"));
    });
    const client = clientOf(server, dial);
    const warm = [post(client), post(client)];
    await waitFor(() => held.length === 2, "two connections");
    for (const peer of held.splice(0)) await peer.say(answerWith("ok"));
    await Promise.all(warm.map(({ heard }) => heard.over));

    const busy = post(client);
    await waitFor(() => held.length === 1, "a request on one of them");
    const poison = post(client, "poison");
    await waitFor(() => dials === 3, "the other to be lost");
    const patient = post(client);
    await held[0]?.say(answerWith("ok"));
    await busy.heard.over;
    await waitFor(() => held.length === 2, "the next request, which may have the connection");
    await held[1]?.say(answerWith("ok"));
    await patient.heard.over;
    expect(poison.heard.events).toEqual([]);
    released.resolve();
    expect(await poison.heard.over).toBe("ended");
    expect(poison.heard.text).toBe("survived");
  });

  test("can be cancelled before it is sent again: then it is not", async () => {
    const released = Promise.withResolvers<void>();
    let dials = 0;
    const dial: Dial = async (target, connection) => {
      dials += 1;
      if (dials === 2) await released.promise;
      return dialByBun(target, connection);
    };
    using server = new TestServer((peer) => {
      if (peer.requests.length === 1) peer.say(answerWith("ok"));
      else peer.reset();
    });
    const client = clientOf(server, dial);
    await exchange(client);
    const { transfer, heard } = post(client);
    expect(transfer.isConnected).toBe(true);
    await waitFor(() => dials === 2, "the second connection");
    expect(transfer.isConnected).toBe(false);
    transfer.cancel();
    released.resolve();
    await Bun.sleep(30);
    expect(heard.events).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  test("many at once are each sent again, and each is answered", async () => {
    let isRestarted = false;
    const waiting: Peer[] = [];
    using server = new TestServer((peer, { body }) => {
      if (isRestarted && peer.number < 20) peer.reset();
      else if (isRestarted) peer.say(answerWith(Buffer.from(body).toString()));
      else waiting.push(peer);
    });
    const client = clientOf(server);
    const before = Array.from({ length: 20 }, () => post(client));
    await waitFor(() => waiting.length === 20, "twenty connections");
    for (const peer of waiting) peer.say(answerWith("ok"));
    await Promise.all(before.map(({ heard }) => heard.over));
    isRestarted = true;
    const after = Array.from({ length: 20 }, (_, index) => post(client, `request ${index}`));
    for (const [index, { heard }] of after.entries()) {
      expect(await heard.over).toBe("ended");
      expect(heard.text).toBe(`request ${index}`);
    }
    expect(server.requests).toHaveLength(60);
  });
});
