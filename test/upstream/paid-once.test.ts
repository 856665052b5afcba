import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import { answerWith, type Peer, TestServer } from "../wire/server.ts";
import { type Setup, setUp } from "./fixtures.ts";

const asJson = "content-type: application/json\r\n";
const ok = `HTTP/1.1 200 OK\r\n${asJson}`;
const good = answerWith('{"id":"x"}', asJson);

const urlOf = ({ port }: TestServer) => `http://127.0.0.1:${port}`;

/** Two deployments of one model; the second is asked when the first fails in a way that costs nothing. */
function inTurn(first: TestServer, second: TestServer): Setup {
  return setUp([{ url: urlOf(first) }, { url: urlOf(second), priority: 2 }]);
}

async function refusalOf({ upstream, plan }: Setup, stream = false): Promise<string> {
  return upstream.open(plan({ stream })).then(
    () => "answered",
    (error: GatewayError) => `${error.status} ${error.code}`,
  );
}

const malformed: readonly (readonly [what: string, answer: string])[] = [
  ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
  ["no status", "HTTP/1.1 OK\r\n\r\n"],
  ["a version that does not exist", `HTTP/3.7 200 OK\r\n${asJson}content-length: 2\r\n\r\n{}`],
  ["lines that end in a bare LF", "HTTP/1.1 200 OK\ncontent-length: 2\n\n{}"],
  ["a folded header", `${ok}x: a\r\n b\r\ncontent-length: 2\r\n\r\n{}`],
  ["a header without a colon", `${ok}nonsense\r\ncontent-length: 2\r\n\r\n{}`],
  ["a control character in a header", `${ok}openai-model: a\x01b\r\ncontent-length: 2\r\n\r\n{}`],
  ["two lengths", `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
  [
    "a length beside chunks",
    `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ],
  ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["a chunk's size that is none", `${ok}transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`],
  ["a chunk that is longer than it says", `${ok}transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
  ["a trailer that is none", `${ok}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nnonsense\r\n\r\n`],
];

describe("a malformed answer was paid for: it is an error, and nobody is asked again, here or elsewhere", () => {
  for (const [what, answer] of malformed) {
    test(what, async () => {
      using first = new TestServer((peer) => void peer.write(answer));
      using second = new TestServer((peer) => void peer.write(good));
      const setup = inTurn(first, second);
      expect(await refusalOf(setup)).toBe("502 upstream_error");
      expect(await refusalOf(setup, true)).toBe("502 upstream_error");
      expect(first.requests).toHaveLength(2);
      expect(second.requests).toHaveLength(0);
      const told = { fields: { failure: "malformed_http", cause: "EPROTO" } };
      expect(setup.log).toMatchObject([told, told]);
    });
  }

  test("on a kept connection too", async () => {
    using server = new TestServer(
      (peer) => void peer.write(peer.requests.length === 1 ? good : "nonsense\r\n\r\n"),
    );
    const setup = setUp([{ url: urlOf(server) }]);
    expect(await refusalOf(setup)).toBe("answered");
    expect(await refusalOf(setup)).toBe("502 upstream_error");
    expect(server.requests).toHaveLength(2);
  });
});

describe("a sole deployment whose kept connection is lost after it has read the request gets it once", () => {
  const ends: readonly (readonly [how: string, end: (peer: Peer) => void])[] = [
    ["closes", (peer) => peer.end()],
    ["resets", (peer) => peer.reset()],
  ];
  for (const [how, end] of ends) {
    for (const afterMs of [0, 100, 400]) {
      test(`the provider ${how} after ${afterMs} ms`, async () => {
        using server = new TestServer((peer) => {
          if (peer.requests.length === 1) peer.write(good);
          else setTimeout(() => end(peer), afterMs);
        });
        const setup = setUp([{ url: urlOf(server) }]);
        expect(await refusalOf(setup)).toBe("answered");
        expect(await refusalOf(setup)).toBe("502 upstream_error");
        expect(server.requests).toHaveLength(2);
      });
    }
  }
});
