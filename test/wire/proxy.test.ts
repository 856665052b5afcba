import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ForwardProxy } from "./forward-proxy.ts";
import { requestInProcess } from "./request-in-process.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const fileOf = (name: string) => new URL(`tls/${name}`, import.meta.url).pathname;
const tls = {
  cert: readFileSync(fileOf("server.pem"), "utf8"),
  key: readFileSync(fileOf("server.key"), "utf8"),
};
const answering = (peer: Peer) => void peer.write(answerWith("ok"));
const ok = { status: 200, text: "ok" };

describe("a provider under a name that only the proxy knows", () => {
  for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
    test(`is reached through it, as ${name} says`, async () => {
      using server = new TestServer(answering);
      using proxy = new ForwardProxy(server.port);
      const answers = await requestInProcess("http://provider.test/v1", 2, { [name]: proxy.url });
      expect(answers).toEqual([ok, ok]);
      expect(proxy.asked[0]).toBe("POST http://provider.test/v1/chat/completions HTTP/1.1");
      expect(server.requests).toHaveLength(2);
      expect(server.requests[0]?.headers).toMatchObject({
        host: "provider.test",
        authorization: "Bearer sk-canary",
        "content-type": "application/json",
      });
      expect(Buffer.from(server.requests[0]?.body ?? []).toString()).toBe('{"model":"m"}');
    });
  }

  test("is reached over TLS through a tunnel, as HTTPS_PROXY says", async () => {
    using server = new TestServer(answering, { tls });
    using proxy = new ForwardProxy(server.port);
    const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: fileOf("authority.pem") };
    expect(await requestInProcess("https://provider.test/v1", 2, env)).toEqual([ok, ok]);
    expect(proxy.asked[0]).toBe("CONNECT provider.test:443 HTTP/1.1");
    expect(server.requests.map(({ path }) => path)).toEqual(Array(2).fill("/v1/chat/completions"));
  });

  test("is not found without it", async () => {
    expect(await requestInProcess("http://provider.test/v1", 1, {})).toEqual([{ code: "ENOTFOUND" }]);
  });

  test("is not called through the proxy of the other protocol", async () => {
    using server = new TestServer(answering);
    using proxy = new ForwardProxy(server.port);
    const answers = await requestInProcess("http://provider.test/v1", 1, { HTTPS_PROXY: proxy.url });
    expect(answers).toEqual([{ code: "ENOTFOUND" }]);
    expect(proxy.asked).toEqual([]);
  });
});

describe("a provider on this machine", () => {
  for (const host of ["127.0.0.1", "localhost"]) {
    test(`is not called through a proxy: ${host}`, async () => {
      using server = new TestServer(answering);
      using proxy = new ForwardProxy(server.port);
      const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, ALL_PROXY: proxy.url };
      expect(await requestInProcess(`http://${host}:${server.port}/v1`, 2, env)).toEqual([ok, ok]);
      expect(proxy.asked).toEqual([]);
      expect(server.peers).toHaveLength(1);
    });
  }
});
