import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { SocketHandler } from "bun";
import { type Connection, connectionEvents } from "../../src/wire/connection.ts";
import { type Dial, HttpClient } from "../../src/wire/http-client.ts";
import { waitFor } from "../support/wait.ts";
import { everythingArrived, exchange, post } from "./recorder.ts";
import { requestInProcess } from "./request-in-process.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const fileOf = (name: string) => new URL(`tls/${name}`, import.meta.url).pathname;
const read = (name: string) => readFileSync(fileOf(name), "utf8");
const right = { cert: read("server.pem"), key: read("server.key") };
const wrongName = { cert: read("elsewhere.pem"), key: read("elsewhere.key") };
const expired = { cert: read("expired.pem"), key: read("expired.key") };
const trustingExpired = { NODE_EXTRA_CA_CERTS: fileOf("expired.pem") };
const trusting = { NODE_EXTRA_CA_CERTS: fileOf("authority.pem") };

const answering = (peer: Peer) => void peer.write(answerWith("ok"));

/** Sends an answer in separate pieces. */
async function streaming(peer: Peer): Promise<void> {
  await peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  for (let number = 0; number < 20; number++) {
    await peer.write("5\r\nhello\r\n");
    await Bun.sleep(1);
  }
  await peer.write("0\r\n\r\n");
}

describe("a server whose certificate is right", () => {
  test("is reached over one connection, by name and by address", async () => {
    for (const host of ["localhost", "127.0.0.1"]) {
      using server = new TestServer(answering, { tls: right });
      const answers = await requestInProcess(`https://${host}:${server.port}/v1`, 3, trusting);
      expect(answers).toEqual(Array.from({ length: 3 }, () => ({ status: 200, text: "ok" })));
      expect(server.peers).toHaveLength(1);
      expect(server.requests.map(({ path }) => path)).toEqual(Array(3).fill("/v1/chat/completions"));
      expect(server.requests[0]?.headers["authorization"]).toBe("Bearer sk-canary");
    }
  });

  test("streams", async () => {
    using server = new TestServer(streaming, { tls: right });
    const answers = await requestInProcess(`https://localhost:${server.port}/v1`, 2, trusting);
    expect(answers).toEqual(Array.from({ length: 2 }, () => ({ status: 200, text: "hello".repeat(20) })));
    expect(server.peers).toHaveLength(1);
  });
});

describe("a server without a valid certificate gets nothing of the request", () => {
  for (const [what, tls, env, code] of [
    ["its authority is unknown", right, {}, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    ["its certificate has expired", expired, trustingExpired, "CERT_HAS_EXPIRED"],
    ["its certificate is for another name", wrongName, trusting, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ] as const) {
    test(what, async () => {
      using server = new TestServer(answering, { tls });
      const answers = await requestInProcess(`https://localhost:${server.port}/v1`, 2, env);
      expect(answers).toEqual([{ code }, { code }]);
      expect(server.peers).toHaveLength(2);
      expect(server.peers.map(({ receivedBytes }) => receivedBytes)).toEqual([0, 0]);
    });
  }

  test("it speaks no TLS", async () => {
    using server = new TestServer(answering, {
      accepted: (peer) => void peer.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    });
    const [answer] = await requestInProcess(`https://localhost:${server.port}/v1`, 1, trusting);
    expect(answer).toHaveProperty("code");
    expect(server.requests).toEqual([]);
  });
});

/** Dials like Bun, but trusts the test's own authority. */
const trusted = { ca: read("authority.pem") };
const dial: Dial = ({ hostname, port }, data) =>
  Bun.connect({ hostname, port, data, socket: connectionEvents, tls: trusted });

function secureClient({ port }: TestServer): HttpClient {
  return new HttpClient({ hostname: "localhost", port, isSecure: true }, { dial });
}

describe("over TLS", () => {
  test("5 MB go up and come back, also where they are taken slowly", async () => {
    const body = Buffer.alloc(5 * 1024 * 1024, "sluice;");
    using server = new TestServer(
      async (peer, request) => {
        await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${request.body.length}\r\n\r\n`);
        await peer.write(request.body);
      },
      { tls: right },
    );
    const { transfer, recorder } = post(secureClient(server), body);
    recorder.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 1);
    };
    expect(await recorder.over).toBe("ended");
    expect(recorder.bytes.equals(body)).toBe(true);
  });

  test("`connected` is called after the handshake, and not before", async () => {
    using server = new TestServer(answering, { tls: right });
    const client = secureClient(server);
    const first = post(client);
    expect(first.transfer.isConnected).toBe(false);
    expect(await first.recorder.over).toBe("ended");
    expect(first.recorder.events).toEqual(["connected", "answered 200", "ended"]);
    expect((await exchange(client)).events).toEqual(["answered 200", "ended"]);
    expect(server.peers).toHaveLength(1);
  });

  test("a second handshake, as when a server renegotiates, changes nothing", async () => {
    const shaken = Promise.withResolvers<void>();
    using server = new TestServer(
      async (peer) => {
        await peer.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
        await shaken.promise;
        await peer.write("again");
      },
      { tls: right },
    );
    let shakeAgain = () => {};
    const socketEvents: SocketHandler<Connection> = {
      ...connectionEvents,
      open(socket) {
        connectionEvents.open?.(socket);
        shakeAgain = () => void connectionEvents.handshake?.(socket, true, null);
      },
    };
    const client = new HttpClient(
      { hostname: "localhost", port: server.port, isSecure: true },
      {
        dial: ({ hostname, port }, data) =>
          Bun.connect({ hostname, port, data, socket: socketEvents, tls: trusted }),
      },
    );
    const first = post(client);
    await waitFor(() => first.recorder.receivedBytes === 5, "half of the answer");
    shakeAgain();
    const second = post(client);
    expect(second.transfer.isConnected).toBe(false);
    shaken.resolve();
    expect(await first.recorder.over).toBe("ended");
    expect(first.recorder.text).toBe("helloagain");
    shakeAgain();
    expect(await second.recorder.over).toBe("ended");
  });

  test("a request that is cancelled ends its connection", async () => {
    using server = new TestServer(() => {}, { tls: right });
    const { transfer, recorder } = post(secureClient(server));
    await waitFor(() => server.requests.length === 1, "the request");
    transfer.cancel();
    await server.peer(0).gone;
    expect(recorder.events).toEqual(["connected"]);
  });

  test("a kept connection that was reset before the request was written is replaced by a new one", async () => {
    using server = new TestServer(answering, { tls: right });
    const client = secureClient(server);
    await exchange(client);
    server.peer(0).reset();
    expect((await exchange(client)).events).toEqual(["connected", "answered 200", "ended"]);
    expect(server.peers.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  test("nor does one who closes only its own side, and reads on, get a request twice", async () => {
    using server = new TestServer(answering, { tls: right });
    const client = secureClient(server);
    await exchange(client);
    server.peer(0).end();
    expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
    await waitFor(() => server.requests.length === 2, "the server to read the request");
    expect(server.peers).toHaveLength(1);
  });

  for (const end of ["end", "reset"] as const) {
    for (const afterMs of [0, 20, 300]) {
      test(`one that is closed (${end}) ${afterMs} ms after the request was read is not`, async () => {
        using server = new TestServer(
          (peer) => {
            if (peer.requests.length === 1) answering(peer);
            else if (afterMs === 0) peer[end]();
            else setTimeout(() => peer[end](), afterMs);
          },
          { tls: right },
        );
        const client = secureClient(server);
        await exchange(client);
        expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
        expect(server.peers.map(({ requests }) => requests.length)).toEqual([2]);
      });
    }
  }

  test("a reset within the body fails the request", async () => {
    using server = new TestServer(
      async (peer) => {
        await peer.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel");
        await everythingArrived();
        peer.reset();
      },
      { tls: right },
    );
    const recorder = await exchange(secureClient(server));
    expect(recorder.events).toEqual(["connected", "answered 200", "failed ECONNRESET"]);
  });
});
